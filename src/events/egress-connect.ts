/** Opens connections to public addresses only; knows nothing of HTTP and of merchants. */
import { isIP, type LookupFunction } from "node:net";
import { buildConnector } from "undici";
import { isAddressAllowed } from "./egress-address.ts";
import { type FindAddresses, NameNotFound } from "./find-addresses.ts";

/** The host is, or has, an address that nobody may be led to. */
export class AddressNotAllowed extends Error {
  override readonly name = "AddressNotAllowed";
}

/** CIDR blocks that are allowed although they are not public, and who knows the addresses of names. */
export type Guard = { readonly openings: readonly string[]; readonly findAddresses: FindAddresses };

/**
 * Checks the address at every place where one is decided: a literal in the URL (no look-up happens for it), each result
 * of a look-up, and the peer of the socket.
 */
export function guardedConnector(guard: Guard & { readonly timeoutMs: number }): buildConnector.connector {
  const { openings, timeoutMs } = guard;
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false, lookup: guardedLookup(guard) });
  return (options, callback) => {
    const literal = withoutBrackets(options.hostname);
    if (isIP(literal) !== 0 && !isAddressAllowed(literal, openings)) {
      callback(new AddressNotAllowed(), null);
      return;
    }
    connect(options, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
      } else if (isAddressAllowed(socket.remoteAddress ?? "", openings)) {
        callback(null, socket);
      } else {
        socket.destroy();
        callback(new AddressNotAllowed(), null);
      }
    });
  };
}

function guardedLookup(guard: Guard): LookupFunction {
  return (hostname, options, callback) => {
    findAllowed(hostname, guard).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all) callback(null, [...addresses]);
        else callback(null, first?.address ?? "", first?.family);
      },
      (error: Error) => callback(error, ""),
    );
  };
}

/** The addresses of a name. Rejects with `AddressNotAllowed` when one is not public, with `NameNotFound` when there is none. */
export async function findAllowed(hostname: string, { openings, findAddresses }: Guard) {
  const addresses = await findAddresses(hostname);
  if (addresses.length === 0) throw new NameNotFound();
  // One address of our own among public ones is an attack, not a choice.
  if (!addresses.every(({ address }) => isAddressAllowed(address, openings))) throw new AddressNotAllowed();
  return addresses;
}

/** The address in a URL's host, as sockets take it. */
export function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}
