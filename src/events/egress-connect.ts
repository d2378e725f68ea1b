/**
 * Decides which addresses merchants' URLs may lead to, and opens connections to those alone: only public ones, so our own
 * network cannot be reached through us. It knows nothing of HTTP or merchants.
 */
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { buildConnector } from "undici";
import { type FindAddresses, NameNotFound } from "./find-addresses.ts";

/** Thrown when the host is, or has, an address that is not allowed. */
export class AddressNotAllowed extends Error {
  override readonly name = "AddressNotAllowed";
}

/** CIDR blocks that are allowed although they are not public, and the look-up of names. */
export type Guard = { readonly openings: readonly string[]; readonly findAddresses: FindAddresses };

/** The client's certificate and key, in PEM, and the server's authority if it is no public one. */
type ClientCertificate = { readonly cert: string; readonly key: string; readonly ca?: string | undefined };

/**
 * Creates a connector that checks every address: a literal in the URL (which has no look-up), each result of a look-up,
 * and the peer of the socket.
 */
export function guardedConnector(
  guard: Guard & { readonly timeoutMs: number; readonly tls?: ClientCertificate | undefined },
): buildConnector.connector {
  const { openings, timeoutMs, tls } = guard;
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false, lookup: guardedLookup(guard), ...tls });
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

/** Finds the addresses of a name. Rejects with `AddressNotAllowed` or `NameNotFound`. */
export async function findAllowed(hostname: string, { openings, findAddresses }: Guard) {
  const addresses = await findAddresses(hostname);
  if (addresses.length === 0) throw new NameNotFound();
  // A private address among public ones is an attack, not a choice.
  if (!addresses.every(({ address }) => isAddressAllowed(address, openings))) throw new AddressNotAllowed();
  return addresses;
}

/** Returns the address in a URL's host in the form that sockets expect. */
export function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

// All addresses assigned for the public Internet so far (RFC 4291, 2.4). Others, such as IPv4-mapped addresses, the
// NAT64 prefix or unique local addresses, can lead to a neighbour of ours.
const globalUnicast = ipaddr.parseCIDR("2000::/3") as [ipaddr.IPv6, number];

// A public address that the host of an Azure machine answers: its metadata and DHCP service.
const hostServices = ["168.63.129.16"];

/**
 * Reports whether connections to a literal address are allowed. `openings` are CIDR blocks that the operator allows on
 * purpose, such as `127.0.0.1/32` for tests and the demo.
 */
export function isAddressAllowed(address: string, openings: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  return openings.some((opening) => contains(opening, parsed)) || isGlobal(parsed);
}

// Names that private networks assign and the Internet never does: RFC 6761, 6762 and 8375, ICANN's resolution
// 2024.07.29.06 for `internal`, and what Linux systems call themselves.
const privateDomains = ["localhost", "local", "internal", "home.arpa", "localdomain"];

/**
 * Reports whether a host name can lead to a public address at all; the look-up decides where it leads. Every name is
 * allowed where the operator has openings.
 */
export function isNameAllowed(hostname: string, openings: readonly string[]): boolean {
  if (openings.length > 0) return true;
  const name = hostname.toLowerCase().replace(/\.$/, "");
  return name.includes(".") && !privateDomains.some((domain) => name === domain || name.endsWith(`.${domain}`));
}

function isGlobal(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== "unicast" || hostServices.includes(address.toString())) return false;
  return address.kind() === "ipv4" || (address as ipaddr.IPv6).match(globalUnicast);
}

function contains(opening: string, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  const [network, bits] = ipaddr.parseCIDR(opening);
  return network.kind() === address.kind() && address.match([network, bits] as [ipaddr.IPv4, number]);
}
