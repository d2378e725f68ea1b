/**
 * Checks the addresses of merchants' URLs: only public ones are allowed, so our own network cannot be reached through
 * us. Pure.
 */
import ipaddr from "ipaddr.js";

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
