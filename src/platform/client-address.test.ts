import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import {
  createClientAddressOf,
  createCountedClientOf,
  createForwardingOf,
  createPublicAddressOf,
  isAddressRange,
} from "./client-address.ts";

const addressOf = (trusted: readonly string[], remoteAddress: string | undefined, forwardedFor?: string) =>
  createClientAddressOf(trusted)({
    headers: { ...(forwardedFor !== undefined && { "x-forwarded-for": forwardedFor }) },
    socket: { remoteAddress } as IncomingMessage["socket"],
  });

const privateRange = ["10.0.0.0/8"];

describe("createClientAddressOf()", () => {
  it("is the socket's address if no proxy is trusted, whatever a header says", () => {
    expect(addressOf([], "10.0.0.9", "192.0.2.1")).toBe("10.0.0.9");
    expect(addressOf([], "127.0.0.1", "192.0.2.1, 127.0.0.1")).toBe("127.0.0.1");
  });

  it("is the socket's address if the peer is not trusted", () => {
    expect(addressOf(privateRange, "198.51.100.1", "192.0.2.1")).toBe("198.51.100.1");
    expect(addressOf(privateRange, "198.51.100.1", "10.0.0.1")).toBe("198.51.100.1");
    expect(addressOf(["2001:db8::/32"], "198.51.100.1", "192.0.2.1")).toBe("198.51.100.1");
  });

  it.each([
    ["one proxy", "192.0.2.1", "192.0.2.1"],
    ["a chain of ours", "192.0.2.1, 10.0.0.7, 10.0.0.8", "192.0.2.1"],
    ["what the client wrote itself", "203.0.113.7, 192.0.2.1", "192.0.2.1"],
    ["a trusted address that the client wrote", "10.0.0.1, 192.0.2.1, 10.0.0.8", "192.0.2.1"],
    ["nothing but proxies", "10.0.0.7, 10.0.0.8", "10.0.0.7"],
    ["blanks and empty places", " 192.0.2.1 ,, 10.0.0.8", "192.0.2.1"],
    ["ports", "192.0.2.1:4711, 10.0.0.7:4712", "192.0.2.1"],
    ["an IPv6 address with a port", "[2001:db8:1:2::5]:4711", "2001:db8:1:2::/64"],
    ["a mapped address", "::ffff:192.0.2.1", "192.0.2.1"],
    ["an empty header", "", "10.0.0.9"],
  ])("returns the address in front of the trusted proxies: %s", (_, forwardedFor, expected) => {
    expect(addressOf(privateRange, "10.0.0.9", forwardedFor)).toBe(expected);
  });

  it.each([
    "someone",
    "unknown",
    "_hidden",
    "192.0.2.256",
    "0x7f000001",
    "2130706433",
    "localhost",
    "192.0.2.1/32",
    "::g",
  ])("counts under the proxy that reported no address: %s", (forwardedFor) => {
    expect(addressOf(privateRange, "10.0.0.9", forwardedFor)).toBe("10.0.0.9");
    expect(addressOf(privateRange, "10.0.0.9", `192.0.2.1, ${forwardedFor}, 10.0.0.8`)).toBe("10.0.0.8");
  });

  it("recognizes a proxy by its mapped address, as a listener on both families sees it", () => {
    expect(addressOf(privateRange, "::ffff:10.0.0.9", "192.0.2.1")).toBe("192.0.2.1");
    expect(addressOf(privateRange, "::ffff:198.51.100.1", "192.0.2.1")).toBe("198.51.100.1");
  });

  it("recognizes proxies with IPv6 addresses", () => {
    expect(addressOf(["fd00::/8"], "fd00::9", "192.0.2.1, fd00::7")).toBe("192.0.2.1");
    expect(addressOf(["fd00::/8"], "2001:db8::9", "192.0.2.1")).toBe("2001:db8::/64");
  });

  it("counts a /64 of IPv6 as one, without its zone", () => {
    expect(addressOf([], "2001:db8:1:2:3:4:5:6")).toBe(addressOf([], "2001:db8:1:2::1"));
    expect(addressOf([], "2001:db8:1:3::1")).not.toBe(addressOf([], "2001:db8:1:2::1"));
    expect(addressOf([], "fe80::1%eth0")).toBe("fe80::/64");
  });

  it("returns a placeholder for a client that has left", () => {
    expect(addressOf(privateRange, undefined, "192.0.2.1")).toBe("unknown");
  });

  it("throws for a text that is not a range", () => {
    expect(() => createClientAddressOf(["example.com"])).toThrow("example.com");
  });
});

describe("isAddressRange()", () => {
  it.each(["10.0.0.0/8", "192.0.2.1", "fd00::/8", "::1", "0.0.0.0/1", "10.0.0.0/32"])("accepts %s", (text) => {
    expect(isAddressRange(text)).toBe(true);
    expect(() => createClientAddressOf([text])).not.toThrow();
  });

  it.each([
    "",
    "10.0.0.0/0",
    "10.0.0.0/33",
    "::/129",
    "10.0.0",
    "loopback",
    "10.0.0.0/255.0.0.0",
    "10.0.0.0/8 ",
    "a/8",
  ])("refuses %s", (text) => {
    expect(isAddressRange(text)).toBe(false);
  });
});

describe("createPublicAddressOf()", () => {
  const publicAddressOf = (remoteAddress: string, forwardedFor?: string) =>
    createPublicAddressOf(privateRange)({
      headers: { ...(forwardedFor !== undefined && { "x-forwarded-for": forwardedFor }) },
      socket: { remoteAddress } as IncomingMessage["socket"],
    });

  it.each([
    ["10.0.0.9", "8.8.4.4", "8.8.4.4"],
    ["10.0.0.9", "2a00:1450:4001:81c::200e", "2a00:1450:4001:81c::200e"],
    ["8.8.8.8", "8.8.4.4", "8.8.8.8"],
    ["::ffff:8.8.8.8", undefined, "8.8.8.8"],
  ])(
    "is the whole address in front of the trusted proxies: %s, for the header %s",
    (remoteAddress, forwardedFor, expected) => {
      expect(publicAddressOf(remoteAddress, forwardedFor)).toBe(expected);
    },
  );

  it.each(["10.0.0.7", "127.0.0.1", "fe80::1", "100.64.0.1", "nobody", ""])(
    "is undefined where it would be %s",
    (forwarded) => {
      expect(publicAddressOf("10.0.0.9", forwarded)).toBeUndefined();
    },
  );
});

const requestOf = (remoteAddress: string, headers: IncomingMessage["headers"] = {}) => ({
  headers,
  socket: { remoteAddress } as IncomingMessage["socket"],
});

describe("createCountedClientOf()", () => {
  const clientOf = createCountedClientOf(privateRange);
  const behindProxy = (address: string) => clientOf(requestOf("10.0.0.9", { "x-forwarded-for": address }));

  it("counts an IPv4 address and its /24, and a /64 of IPv6 and its /48", () => {
    expect(behindProxy("93.184.216.34")).toEqual({ address: "93.184.216.34", network: "93.184.216.0/24" });
    expect(behindProxy("2a00:1450:4001:81c::200e")).toEqual({
      address: "2a00:1450:4001:81c::/64",
      network: "2a00:1450:4001::/48",
    });
  });

  it("counts no private address: all customers may have it", () => {
    expect(behindProxy("10.1.2.3")).toBeUndefined();
    expect(clientOf(requestOf("10.0.0.9"))).toBeUndefined();
    expect(createCountedClientOf([])(requestOf("172.17.0.1", { "x-forwarded-for": "93.184.216.34" }))).toBeUndefined();
  });
});

describe("createForwardingOf()", () => {
  it.each([
    ["10.0.0.9", { "x-forwarded-for": "93.184.216.34" }, "x-forwarded-for; trusted"],
    ["::ffff:10.0.0.9", { "x-real-ip": "93.184.216.34" }, "x-real-ip; trusted"],
    ["93.184.216.34", { forwarded: "for=1", "x-forwarded-for": "1" }, "x-forwarded-for; untrusted"],
    ["93.184.216.34", {}, "none; untrusted"],
  ])("names the header, and no address: from %s with %j", (remoteAddress, headers, expected) => {
    expect(createForwardingOf(privateRange)(requestOf(remoteAddress, headers))).toBe(expected);
  });
});
