import { describe, expect, it } from "vitest";
import { requireAllowedOrigin } from "./checkout-rpc.ts";

const test = { anyOriginWhenNoneRegistered: true };
const live = { anyOriginWhenNoneRegistered: false };
const shop = "https://shop.example";
const refused = expect.objectContaining({ code: "origin_not_allowed" });

describe("requireAllowedOrigin()", () => {
  it("accepts a registered page, and a caller that is no page", () => {
    for (const environment of [test, live]) {
      expect(() => requireAllowedOrigin(environment, [shop], shop)).not.toThrow();
      expect(() => requireAllowedOrigin(environment, [shop], null)).not.toThrow();
    }
  });

  it.each([
    "https://shop.example.evil.example",
    "https://evil.example/https://shop.example",
    "https://sub.shop.example",
    "http://shop.example",
    "https://shop.example:8443",
    "https://SHOP.example",
    "null",
    "",
  ])("refuses %j, in test and in live", (origin) => {
    for (const environment of [test, live]) {
      expect(() => requireAllowedOrigin(environment, [shop], origin)).toThrow(refused);
    }
  });

  it("accepts any page for an empty list in test, and none in live", () => {
    expect(() => requireAllowedOrigin(test, [], "https://anywhere.example")).not.toThrow();
    for (const origin of [shop, "null"]) expect(() => requireAllowedOrigin(live, [], origin)).toThrow(refused);
  });
});
