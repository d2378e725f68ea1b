/** Which addresses a merchant's URL may lead to: public ones, so that nobody reaches our own network through us. Pure. */
import ipaddr from "ipaddr.js";

// Everything given out for use in the public Internet so far (RFC 4291, 2.4). What lies outside, such as IPv4-mapped
// addresses, the NAT64 prefix or unique local addresses, can mean a neighbour of ours.
const globalUnicast = ipaddr.parseCIDR("2000::/3") as [ipaddr.IPv6, number];

// Public by number, yet answered by the host of an Azure machine: its metadata and DHCP service.
const hostServices = ["168.63.129.16"];

/**
 * Whether connections to a literal address are allowed. `openings` are CIDR blocks that the operator opened on purpose,
 * such as `127.0.0.1/32` for tests and the demo.
 */
export function isAddressAllowed(address: string, openings: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  return openings.some((opening) => contains(opening, parsed)) || isGlobal(parsed);
}

function isGlobal(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== "unicast" || hostServices.includes(address.toString())) return false;
  return address.kind() === "ipv4" || (address as ipaddr.IPv6).match(globalUnicast);
}

function contains(opening: string, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  const [network, bits] = ipaddr.parseCIDR(opening);
  return network.kind() === address.kind() && address.match([network, bits] as [ipaddr.IPv4, number]);
}
