import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { proxyHeadersOf } from "./proxy-headers.ts";

describe("proxyHeadersOf()", () => {
  it("are the connector's, with those of every request and the content type of the destination", () => {
    const headers = { "Idempotency-Key": "att_1", "content-type": "text/plain" };
    expect(proxyHeadersOf(headers)).toEqual({
      "idempotency-key": "att_1",
      "user-agent": "Switchyard",
      "accept-encoding": "identity",
      "Content-Type": "application/json",
    });
  });

  it.each([
    ["our placeholder", { reference: "{{card.number}}" }],
    ["the vault's placeholder", { reference: "a{{$card_cvc}}" }],
    ["a line end", { reference: "a\r\nhost: b" }],
    ["a name that is none", { "a b": "c" }],
    ["a host", { Host: "shop.example" }],
    ["an encoding", { "content-encoding": "gzip" }],
    ["a proxy's header", { "proxy-authorization": "x" }],
  ])("are none with %s", (_, header) => {
    expect(proxyHeadersOf({ "x-api-key": "key", ...header })).toBeUndefined();
  });

  it("reserve what our own vault reserves", () => {
    const reserved = (path: string) =>
      /const reservedHeader =\s*(.+);/.exec(readFileSync(new URL(path, import.meta.url), "utf8"))?.[1];
    expect(reserved("proxy-headers.ts")).toBeDefined();
    expect(reserved("proxy-headers.ts")).toBe(reserved("../../vault/forward.ts"));
  });
});
