/**
 * Determines a request's client address behind proxies: X-Forwarded-For counts only as far as our own proxies wrote it.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import proxyaddr from "proxy-addr";

// One customer's line can use any address of a /64 of IPv6.
const customerPrefixBits = 64;

// An address of either family, and the number of its leading bits that count.
const rangeShape = /^([0-9a-f.:]+?)(?:\/(\d{1,3}))?$/i;

/** Returns the address of a request's client, as limits count it. */
export type ClientAddressOf = (request: Pick<IncomingMessage, "headers" | "socket">) => string;

/** Reports whether `createClientAddressOf` accepts a text: an address, or a CIDR range such as `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  const [, address = "", bits] = rangeShape.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && (bits === undefined || (Number(bits) >= 1 && Number(bits) <= (family === 4 ? 32 : 128)));
}

/**
 * Creates the function for the proxies in these ranges. A hop is trusted if the one that reports it is trusted, so the
 * result is the first address, seen from us, that is none of our proxies: anything a client writes into the header
 * comes behind it and changes nothing. An IPv6 address stands for its /64, a mapped one for its IPv4 address. Throws
 * for an invalid range.
 */
export function createClientAddressOf(trustedProxies: readonly string[]): ClientAddressOf {
  const hopOf = createHopOf(trustedProxies);
  return (request) => counted(hopOf(request));
}

/**
 * Creates a function like `createClientAddressOf`, but for the whole address, and undefined unless it is a public one:
 * behind proxies that are not configured, all customers would seem to have the address of the nearest.
 */
export function createPublicAddressOf(
  trustedProxies: readonly string[],
): (request: Pick<IncomingMessage, "headers" | "socket">) => string | undefined {
  const hopOf = createHopOf(trustedProxies);
  return (request) => {
    const hop = hopOf(request);
    if (isIP(hop) === 0) return undefined;
    const address = parsed(hop);
    return address.range() === "unicast" ? address.toString() : undefined;
  };
}

/** Creates a function that returns the first hop seen from us that is none of our proxies; empty if there is none. */
function createHopOf(trustedProxies: readonly string[]): ClientAddressOf {
  const isOurs = proxyaddr.compile([...trustedProxies]);
  const isTrusted = (hop: string, distance: number) => isOurs(withoutPort(hop), distance);
  return (request) => {
    if (request.socket.remoteAddress === undefined) return "";
    // From us to the client, up to the first that is not trusted.
    const hops = proxyaddr.all(request as IncomingMessage, isTrusted).map(withoutPort);
    // A hop that is not an address was not written by one of our proxies; the hop that reported it is certain.
    return hops.findLast((hop) => isIP(hop) !== 0) ?? "";
  };
}

/** Removes the client's port, which some proxies write behind its address. */
function withoutPort(hop: string): string {
  return /^(?:\[([0-9a-f:.]+)\]|([\d.]+))(?::\d{1,5})?$/i.exec(hop)?.slice(1).find(Boolean) ?? hop;
}

/** Parses an address without its zone, which names a local interface and is no part of the address. */
function parsed(text: string): ipaddr.IPv4 | ipaddr.IPv6 {
  return ipaddr.process(text.replace(/%.*$/, ""));
}

function counted(text: string): string {
  if (isIP(text) === 0) return "unknown";
  const address = parsed(text);
  if (address instanceof ipaddr.IPv4) return address.toString();
  const bits = `${address.toNormalizedString()}/${customerPrefixBits}`;
  return `${ipaddr.IPv6.networkAddressFromCIDR(bits).toString()}/${customerPrefixBits}`;
}
