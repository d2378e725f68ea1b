/** Finds the addresses of an endpoint's name in DNS alone, within a time, and without holding anybody else's look-ups. */
import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";

/** Every address of a name. Rejects with `NameNotFound` when there is none, or none in time. */
export type FindAddresses = (hostname: string) => Promise<readonly LookupAddress[]>;

/** DNS has no address for the name, or did not say in time. */
export class NameNotFound extends Error {
  override readonly name = "NameNotFound";
}

// Resolvers answer in milliseconds, and a lost packet is asked for again. What is left of the connect timeout is for
// connecting: a name that DNS does not find is told from a server that does not listen.
const lookupTimeoutMs = 3_000;
const queryTimeoutMs = 1_000;
const queryTries = 2;

// RFC 6761, 6.3: these names are this machine's, whatever DNS says.
const loopback: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/**
 * Looks names up by DNS packets of our own. `dns.lookup` would have two threads for the whole process and wait 10 s or
 * more for a name server that is silent: a few dead names of merchants would stop every connection that we open.
 * The hosts file and search lists are ours, not a merchant's, and are not read. `servers` are the system's unless given.
 */
export function createFindAddresses(servers?: readonly string[]): FindAddresses {
  return async (hostname) => {
    const name = hostname.replace(/\.$/, "");
    if (name === "localhost" || name.endsWith(".localhost")) return loopback;
    // One for each look-up: it can be cancelled alone, and follows changes of the system's name servers.
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries: queryTries });
    if (servers !== undefined) resolver.setServers(servers);
    const timer = setTimeout(() => resolver.cancel(), lookupTimeoutMs);
    try {
      const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const found = [...addressesOf(ipv4, 4), ...addressesOf(ipv6, 6)];
      if (found.length === 0) throw new NameNotFound();
      return found;
    } finally {
      clearTimeout(timer);
    }
  };
}

// A name server that knows one kind of address only is common; what it does not know is not connected to either.
function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return answer.status === "fulfilled" ? answer.value.map((address) => ({ address, family })) : [];
}
