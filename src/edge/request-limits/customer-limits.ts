/** The limits of callers in one process of the edge, each with its reason. A merchant is charged for what they admit. */

/** A page reads twice, submits, and polls at most once a second, in some tabs; the burst is for a reloaded page. */
const session = { perSecond: 5, burst: 20 } as const;
/**
 * Strangers share an address behind an office or a mobile carrier's gateway: fifty customers who wait for an outcome
 * poll this often.
 */
const address = { perSecond: 50, burst: 200 } as const;
/** A carrier's gateways share a network, and an attacker's addresses do: as much as four addresses. */
const network = { perSecond: 200, burst: 800 } as const;
/** Returns from a bank with one token: the customer returns once, and may reload the page. */
const returned = { perSecond: 5, burst: 20 } as const;
/** A gateway sends two or three for each payment, and sends again what was refused. */
const notification = { perSecond: 200, burst: 2_000 } as const;

/** By the name of each in the limit fields. */
export const customerLimits = { session, address, network, return: returned, notification } as const;
