import { describe, expect, it } from "vitest";
import { isAddressAllowed } from "./egress-connect.ts";

const refused = {
  "this network": ["0.0.0.0", "0.1.2.3", "::"],
  loopback: ["127.0.0.1", "127.255.255.254", "::1"],
  private: ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fdff::1"],
  "carrier-grade NAT": ["100.64.0.1", "100.127.255.255"],
  "link local": ["169.254.1.1", "fe80::1", "fe80::1%eth0", "fec0::1"],
  metadata: ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"],
  "benchmarks and documentation": [
    "198.18.0.1",
    "198.19.255.255",
    "192.0.2.1",
    "203.0.113.9",
    "2001:db8::1",
    "3fff::1",
  ],
  "multicast and broadcast": ["224.0.0.1", "239.255.255.255", "255.255.255.255", "240.0.0.1", "ff02::1"],
  "IPv4 inside IPv6": ["::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::ffff:0:127.0.0.1", "2002:7f00:1::1"],
  "NAT64 and Teredo": ["64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "2001::1", "192.88.99.1"],
  "not an address": ["", "localhost", "127.0.0.1.nip.io", "2130706433x"],
};

describe("isAddressAllowed()", () => {
  it.each(Object.entries(refused).flatMap(([kind, list]) => list.map((address) => ({ kind, address }))))(
    "refuses $address ($kind)",
    ({ address }) => {
      expect(isAddressAllowed(address, [])).toBe(false);
    },
  );

  it.each(["8.8.8.8", "100.63.255.255", "172.32.0.1", "2606:4700:4700::1111", "2a00:1450:4001::1"])(
    "allows the public address %s",
    (address) => {
      expect(isAddressAllowed(address, [])).toBe(true);
    },
  );

  it("allows only the operator's openings", () => {
    expect(isAddressAllowed("127.0.0.1", ["127.0.0.1/32", "::1/128"])).toBe(true);
    expect(isAddressAllowed("::1", ["127.0.0.1/32", "::1/128"])).toBe(true);
    expect(isAddressAllowed("127.0.0.2", ["127.0.0.1/32", "::1/128"])).toBe(false);
    expect(isAddressAllowed("::ffff:127.0.0.1", ["127.0.0.1/32"])).toBe(false);
  });
});
