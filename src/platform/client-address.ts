/** Whose address a request comes from, behind proxies: X-Forwarded-For counts as far as it was written by our own. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import proxyaddr from "proxy-addr";

// One customer's line has a /64 of IPv6 addresses to choose from.
const customerPrefixBits = 64;

// An address of either family, and how many of its leading bits count.
const rangeShape = /^([0-9a-f.:]+?)(?:\/(\d{1,3}))?$/i;

/** Reads the address of a request's client, as limits count it. */
export type ClientAddressOf = (request: Pick<IncomingMessage, "headers" | "socket">) => string;

/** Whether a text is what `createClientAddressOf` takes: an address, or a CIDR range such as `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  const [, address = "", bits] = rangeShape.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && (bits === undefined || (Number(bits) >= 1 && Number(bits) <= (family === 4 ? 32 : 128)));
}

/**
 * Made for the proxies in these ranges. A hop is believed when the one that tells of it is trusted, so the address is
 * the first, seen from us, that is none of our proxies: whatever a client wrote into the header stands behind it and
 * changes nothing. An IPv6 address stands for its /64, a mapped one for its IPv4 address. Throws for a wrong range.
 */
export function createClientAddressOf(trustedProxies: readonly string[]): ClientAddressOf {
  const hopOf = createHopOf(trustedProxies);
  return (request) => counted(hopOf(request));
}

/**
 * As `createClientAddressOf`, but the whole address, and none where it is not a public one: behind proxies that nobody has
 * named, all customers would seem to be the nearest of them.
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

/** The first hop seen from us that is none of our proxies; empty where there is none. */
function createHopOf(trustedProxies: readonly string[]): ClientAddressOf {
  const isOurs = proxyaddr.compile([...trustedProxies]);
  const isTrusted = (hop: string, distance: number) => isOurs(withoutPort(hop), distance);
  return (request) => {
    if (request.socket.remoteAddress === undefined) return "";
    // From us to the client, up to the first that is not trusted.
    const hops = proxyaddr.all(request as IncomingMessage, isTrusted).map(withoutPort);
    // A hop that is no address was not written as ours are; who told of it is certain.
    return hops.findLast((hop) => isIP(hop) !== 0) ?? "";
  };
}

/** Some proxies write the client's port behind its address. */
function withoutPort(hop: string): string {
  return /^(?:\[([0-9a-f:.]+)\]|([\d.]+))(?::\d{1,5})?$/i.exec(hop)?.slice(1).find(Boolean) ?? hop;
}

/** A zone names an interface of ours and is no part of the address. */
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
