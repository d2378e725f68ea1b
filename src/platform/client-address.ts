/** Determines a request's client address: X-Forwarded-For counts as far as our own proxies wrote it. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import proxyaddr from "proxy-addr";

// A line can use any address of a /64 of IPv6, and its owner may have a /48 (RFC 6177). Hosters rent a /24 of IPv4 whole.
const linePrefixBits = 64;
const networkPrefixBits = { ipv4: 24, ipv6: 48 } as const;

// An address of either family, and the number of its leading bits that count.
const rangeShape = /^([0-9a-f.:]+?)(?:\/(\d{1,3}))?$/i;

// A few proxies' addresses, in some hundred kilobytes.
const knownCharactersMax = 120;
const knownMax = 2_000;

type AddressedRequest = Pick<IncomingMessage, "headers" | "socket">;

export type ClientAddressOf = (request: AddressedRequest) => string;

/** A client as limits count it: an IPv4 address and its /24, or a /64 of IPv6 and its /48. */
export type CountedClient = { readonly address: string; readonly network: string };

/** Returns the client of a request; undefined if its address is not a public one. */
export type CountedClientOf = (request: AddressedRequest) => CountedClient | undefined;

/** Reports whether `createClientAddressOf` accepts a text: an address, or a CIDR range such as `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  const [, address = "", bits] = rangeShape.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && (bits === undefined || (Number(bits) >= 1 && Number(bits) <= (family === 4 ? 32 : 128)));
}

/**
 * Creates the function for the proxies in these ranges. A hop is trusted if the one that reports it is trusted, so the
 * result is the first address, seen from us, that is none of our proxies: anything a client writes into the header
 * comes behind it and changes nothing. An IPv6 address becomes its /64, a mapped one its IPv4 address. Throws for an
 * invalid range.
 */
export function createClientAddressOf(trustedProxies: readonly string[]): ClientAddressOf {
  const hopOf = createHopOf(trustedProxies);
  return (request) => counted(hopOf(request));
}

/**
 * Creates a function like `createClientAddressOf`, but for the unshortened address, and undefined unless it is a public
 * one: behind proxies that are not configured, all customers would seem to have the address of the nearest.
 */
export function createPublicAddressOf(
  trustedProxies: readonly string[],
): (request: AddressedRequest) => string | undefined {
  const hopOf = createHopOf(trustedProxies);
  return (request) => publicAddress(hopOf(request))?.toString();
}

/** Creates the function that limits use, on public addresses only as `createPublicAddressOf`. */
export function createCountedClientOf(trustedProxies: readonly string[]): CountedClientOf {
  const hopOf = createHopOf(trustedProxies);
  // The map is by the text that decides the result, because parsing takes a third of the time of a refusal.
  const known = new Map<string, CountedClient | undefined>();
  return (request) => {
    const came = `${request.socket.remoteAddress} ${request.headers["x-forwarded-for"] ?? ""}`;
    if (known.has(came)) return known.get(came);
    const address = publicAddress(hopOf(request));
    const client = address && {
      address: lineOf(address),
      network: prefixOf(address, networkPrefixBits[address.kind()]),
    };
    if (known.size >= knownMax) known.clear();
    if (came.length <= knownCharactersMax) known.set(came, client);
    return client;
  };
}

/**
 * Returns a network as limits count them: a public IPv4 address or its /24, or a /64 of IPv6, for which an address stands, or its /48.
 * Undefined for any other text.
 */
export function countedNetwork(text: string): string | undefined {
  const [, address = "", bits] = rangeShape.exec(text.trim()) ?? [];
  const parsedAddress = publicAddress(address);
  if (parsedAddress === undefined) return undefined;
  const kind = parsedAddress.kind();
  const lineBits = kind === "ipv4" ? 32 : linePrefixBits;
  const wanted = bits === undefined ? lineBits : Number(bits);
  return [lineBits, networkPrefixBits[kind]].includes(wanted) ? prefixOf(parsedAddress, wanted) : undefined;
}

/** Headers in which proxies name the client; only the first is read. */
const forwardingHeaders = ["x-forwarded-for", "forwarded", "x-real-ip", "cf-connecting-ip"] as const;

/**
 * Creates a function that describes how a request came, for the doctor: the header with its client's address or `none`,
 * and whether it came from a trusted proxy. It names no address.
 */
export function createForwardingOf(trustedProxies: readonly string[]): (request: AddressedRequest) => string {
  const isOurs = proxyaddr.compile([...trustedProxies]);
  return ({ headers, socket }) => {
    const header = forwardingHeaders.find((name) => headers[name] !== undefined) ?? "none";
    return `${header}; ${isOurs(socket.remoteAddress ?? "", 0) ? "trusted" : "untrusted"}`;
  };
}

/** Creates a function that returns the first hop seen from us that is none of our proxies; empty if there is none. */
function createHopOf(trustedProxies: readonly string[]): ClientAddressOf {
  const isOurs = proxyaddr.compile([...trustedProxies]);
  const isTrusted = (hop: string, distance: number) => isOurs(withoutPort(hop), distance);
  return (request) => {
    if (request.socket.remoteAddress === undefined) return "";
    // The hops from us to the client, up to the first that is not trusted.
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

function publicAddress(hop: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const address = isIP(hop) === 0 ? undefined : parsed(hop);
  return address?.range() === "unicast" ? address : undefined;
}

function counted(text: string): string {
  return isIP(text) === 0 ? "unknown" : lineOf(parsed(text));
}

function lineOf(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  return address.kind() === "ipv4" ? address.toString() : prefixOf(address, linePrefixBits);
}

function prefixOf(address: ipaddr.IPv4 | ipaddr.IPv6, bits: number): string {
  const family = address.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${family.networkAddressFromCIDR(`${address.toNormalizedString()}/${bits}`).toString()}/${bits}`;
}
