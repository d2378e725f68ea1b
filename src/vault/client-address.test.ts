import { describe, expect, it } from "vitest";
import { clientAddressOf } from "./client-address.ts";

describe("clientAddressOf()", () => {
  const socketAddress = "10.0.0.9";

  it("is the socket's when no proxy is trusted, whatever a header says", () => {
    expect(clientAddressOf({ socketAddress, forwardedFor: "192.0.2.1", trustedProxies: 0 })).toBe("10.0.0.9");
  });

  it("is what the outermost trusted proxy saw", () => {
    const forwardedFor = "203.0.113.7, 192.0.2.1, 10.0.0.8";
    expect(clientAddressOf({ socketAddress, forwardedFor, trustedProxies: 1 })).toBe("10.0.0.8");
    expect(clientAddressOf({ socketAddress, forwardedFor, trustedProxies: 2 })).toBe("192.0.2.1");
  });

  it("falls back to the socket's when the header is short or holds no address", () => {
    expect(clientAddressOf({ socketAddress, forwardedFor: undefined, trustedProxies: 2 })).toBe("10.0.0.9");
    expect(clientAddressOf({ socketAddress, forwardedFor: "someone", trustedProxies: 1 })).toBe("10.0.0.9");
  });

  it("counts a /64 of IPv6 as one, and a mapped IPv4 address as itself", () => {
    const of = (address: string) =>
      clientAddressOf({ socketAddress: address, forwardedFor: undefined, trustedProxies: 0 });
    expect(of("2001:db8:1:2:3:4:5:6")).toBe(of("2001:db8:1:2::1"));
    expect(of("2001:db8:1:3::1")).not.toBe(of("2001:db8:1:2::1"));
    expect(of("::ffff:192.0.2.1")).toBe("192.0.2.1");
  });
});
