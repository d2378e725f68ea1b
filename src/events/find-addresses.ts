/** Finds the addresses of an endpoint's name in DNS alone, within a timeout, and without delaying other look-ups. */
import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";

/** Finds every address of a name. Rejects with `NameNotFound` when there is none, or none in time. */
export type FindAddresses = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Thrown when DNS has no address for the name, or did not answer in time. */
export class NameNotFound extends Error {
  override readonly name = "NameNotFound";
}

// Resolvers answer in milliseconds, and a lost packet is sent again. The rest of the connect timeout is for connecting,
// so an unknown name can be distinguished from a server that does not listen.
const lookupTimeoutMs = 3_000;
const queryTimeoutMs = 1_000;
const queryTries = 2;

// RFC 6761, 6.3: these names mean this machine, whatever DNS says.
const loopback: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/**
 * Creates a look-up that sends its own DNS packets. `dns.lookup` would use two threads for the whole process and wait
 * 10 s or more for a silent name server: a few dead names of merchants would block every connection that we open. The
 * hosts file and search lists are ours, not a merchant's, and are not read. `servers` defaults to the system's.
 */
export function createFindAddresses(servers?: readonly string[]): FindAddresses {
  return async (hostname) => {
    const name = hostname.replace(/\.$/, "");
    if (name === "localhost" || name.endsWith(".localhost")) return loopback;
    // A resolver for each look-up can be cancelled alone, and follows changes of the system's name servers.
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

// A name server that knows only one kind of address is common; addresses that it does not return are not connected to.
function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return answer.status === "fulfilled" ? answer.value.map((address) => ({ address, family })) : [];
}
