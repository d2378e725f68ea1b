import { describe, expect, it } from "vitest";
import { appleHostOf } from "./apple-host.ts";

describe("appleHostOf()", () => {
  it.each([
    "apple-pay-gateway.apple.com",
    "cn-apple-pay-gateway.apple.com",
    "apple-pay-gateway-nc-pod1.apple.com",
    "apple-pay-gateway-pr-pod5-dr.apple.com",
    "apple-pay-gateway-cert.apple.com",
    "cn-apple-pay-gateway-sh-pod1.apple.com",
  ])("takes %s, and nothing of the address but its host", (host) => {
    expect(appleHostOf(`https://${host}/paymentservices/startSession?a=b#c`)).toBe(host);
  });

  it.each([
    ["another scheme", "http://apple-pay-gateway.apple.com/paymentservices/paymentSession"],
    ["a port", "https://apple-pay-gateway.apple.com:8443/"],
    ["a user", "https://user@apple-pay-gateway.apple.com/"],
    ["a password", "https://:pass@apple-pay-gateway.apple.com/"],
    ["a host after a user like Apple's", "https://apple-pay-gateway.apple.com@evil.example/"],
    ["a host that ends otherwise", "https://apple-pay-gateway.apple.com.evil.example/"],
    ["a host that begins otherwise", "https://evil-apple-pay-gateway.apple.com/"],
    ["another host of Apple's", "https://developer.apple.com/"],
    ["a host below", "https://evil.apple-pay-gateway.apple.com/"],
    ["an underscore", "https://apple-pay-gateway_evil.apple.com/"],
    ["a dot at the end", "https://apple-pay-gateway.apple.com./"],
    ["a line within", "https://apple-pay-gateway.apple.com%0a.evil.example/"],
    ["letters that look alike", "https://аpple-pay-gateway.apple.com/"],
    ["an address", "https://169.254.169.254/"],
    ["loopback", "https://127.0.0.1/"],
    ["a path alone", "/paymentservices/paymentSession"],
    ["nothing", ""],
  ])("refuses %s", (_, address) => {
    expect(() => appleHostOf(address)).toThrowError(expect.objectContaining({ code: "invalid_field" }));
  });
});
