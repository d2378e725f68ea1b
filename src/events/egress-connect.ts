/** Opens connections to public addresses only; it knows nothing of HTTP or merchants. */
import { isIP, type LookupFunction } from "node:net";
import { buildConnector } from "undici";
import { isAddressAllowed } from "./egress-address.ts";
import { type FindAddresses, NameNotFound } from "./find-addresses.ts";

/** Thrown when the host is, or has, an address that is not allowed. */
export class AddressNotAllowed extends Error {
  override readonly name = "AddressNotAllowed";
}

/** CIDR blocks that are allowed although they are not public, and the look-up of names. */
export type Guard = { readonly openings: readonly string[]; readonly findAddresses: FindAddresses };

/**
 * Creates a connector that checks every address: a literal in the URL (which has no look-up), each result of a look-up,
 * and the peer of the socket.
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

/**
 * Finds the addresses of a name. Rejects with `AddressNotAllowed` when one is not public, with `NameNotFound` when
 * there is none.
 */
export async function findAllowed(hostname: string, { openings, findAddresses }: Guard) {
  const addresses = await findAddresses(hostname);
  if (addresses.length === 0) throw new NameNotFound();
  // One private address among public ones is an attack, not a choice.
  if (!addresses.every(({ address }) => isAddressAllowed(address, openings))) throw new AddressNotAllowed();
  return addresses;
}

/** Returns the address in a URL's host in the form that sockets expect. */
export function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}
