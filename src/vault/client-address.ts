/** The address a tokenize call is counted under. Pure. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

// One customer's line has a /64 of IPv6 addresses to choose from.
const customerPrefixBits = 64;

/**
 * The customer's address: what the outermost of our own proxies saw, so a forged X-Forwarded-For changes nothing.
 * An IPv6 address stands for its /64.
 */
export function clientAddressOf(options: {
  socketAddress: string | undefined;
  forwardedFor: string | undefined;
  trustedProxies: number;
}): string {
  const hops = [...(options.forwardedFor ?? "").split(",").map((hop) => hop.trim()), options.socketAddress ?? ""];
  const seen = hops[hops.length - 1 - options.trustedProxies] ?? options.socketAddress ?? "";
  // A hop that is no address cannot have come from our proxy; the socket's address is certain.
  const address = isIP(seen) === 0 ? (options.socketAddress ?? "") : seen;
  return isIP(address) === 0 ? "unknown" : counted(address);
}

function counted(text: string): string {
  const address = ipaddr.process(text);
  if (address instanceof ipaddr.IPv4) return address.toString();
  const bits = `${address.toNormalizedString()}/${customerPrefixBits}`;
  return `${ipaddr.IPv6.networkAddressFromCIDR(bits).toString()}/${customerPrefixBits}`;
}
