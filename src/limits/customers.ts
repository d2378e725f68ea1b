/** Bounds of one customer's requests to the edge, with their reasons. PURE. */

/**
 * Calls that one process accepts from one session's customers, before they count against the merchant's limit. A page
 * reads twice, submits, and polls at most once a second, in some tabs; the burst is for a reloaded page.
 */
export const sessionRequestLimit = { perSecond: 5, burst: 20 } as const;
/**
 * Calls that one process accepts from one address, before they count against the merchant's limit. Strangers share an
 * address behind an office or a mobile carrier's gateway: fifty customers who wait for an outcome poll this often. Two
 * addresses use up a merchant's default limit.
 */
export const addressRequestLimit = { perSecond: 50, burst: 200 } as const;
/**
 * Sessions, and addresses, that one process counts, some hundred bytes each; beyond this number the one idle for
 * longest is dropped.
 */
export const requestCallersMax = 20_000;
