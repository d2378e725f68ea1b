import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { findProxyDestination, type ProxyDestination } from "./destinations.ts";
import { fillProbe, planProxyBody, proxyHeadersOf } from "./proxy-request.ts";

const destination: ProxyDestination = {
  connector: "X",
  operation: "authorize",
  hosts: "sandbox",
  path: "/payments/{id}/authorize",
  fields: {
    "/card/number": "{{card.number}}",
    "/card/month": "{{card.expMonth}}",
    "/card/year": "{{card.expYear}}",
    "/card/cvc": "{{card.cvc}}",
    "/card/name": "{{card.holder}}",
    "/card/a~1b": "{{card.number}}",
  },
};
const plan = (body: object, parts = { cvc: true, holder: true }) =>
  planProxyBody(destination, JSON.stringify(body), parts);
const card = {
  number: "{{card.number}}",
  month: "{{card.expMonth}}",
  year: "{{card.expYear}}",
  cvc: "{{card.cvc}}",
  name: "{{card.holder}}",
};

describe("planProxyBody()", () => {
  it("replaces our placeholders with the vault's, and leaves the rest as it is", () => {
    expect(plan({ card, amount: { value: 4900 }, items: ["a", null], reference: "{ {card.number}}" })).toEqual({
      type: "body",
      value: {
        card: {
          number: "{{$card_number}}",
          month: "{{$card_exp_month}}",
          year: "{{$card_exp_year}}",
          cvc: "{{$card_cvc}}",
          name: "{{$card_holder_name}}",
        },
        amount: { value: 4900 },
        items: ["a", null],
        reference: "{ {card.number}}",
      },
    });
  });

  it("omits the parts of the card that the vault does not have", () => {
    const planned = plan({ card }, { cvc: false, holder: false });
    const sent = JSON.stringify(planned.type === "body" && planned.value);
    expect(JSON.parse(sent)).toEqual({
      card: { number: "{{$card_number}}", month: "{{$card_exp_month}}", year: "{{$card_exp_year}}" },
    });
  });

  it("sends the given name in place of one that the vault does not have, and nothing in it is a placeholder", () => {
    const nameOf = (holder: boolean, given?: string) => {
      const planned = planProxyBody(destination, JSON.stringify({ card }), { cvc: true, holder }, given);
      return planned.type === "body" && (planned.value as { card: { name?: string } }).card.name;
    };
    expect(nameOf(false, "Grace Hopper")).toBe("Grace Hopper");
    expect(nameOf(true, "Grace Hopper")).toBe("{{$card_holder_name}}");
    expect(nameOf(false, "{{$card_number}}")).toBe("{ {$card_number}}");
    expect(nameOf(false)).toBeUndefined();
  });

  it.each<[string, object]>([
    ["in another field", { metadata: { note: "{{card.number}}" } }],
    ["of another field", { card: { number: "{{card.cvc}}" } }],
    ["among other text", { card: { number: "x{{card.number}}" } }],
    ["beside a second one", { card: { year: "{{card.expYear}}-{{card.expMonth}}" } }],
    ["with a year of two digits", { card: { year: "{{card.expYear2}}" } }],
    ["in the vault's own words", { note: "{{$card_number}}" }],
    ["in the vault's own words, with text behind", { note: "{{ $card_number }} please" }],
    ["as a name", { "{{card.number}}": 1 }],
    ["in a list", { card: { number: ["{{card.number}}"] } }],
    ["by a name that only looks like the path", { card: { "a/b": "{{card.cvc}}" } }],
  ])("refuses a placeholder %s", (_, body) => {
    expect(plan(body)).toMatchObject({ type: "refused", reason: expect.stringContaining("placeholder") });
  });

  it("refuses a body that is not JSON, and one that nests too deep", () => {
    expect(planProxyBody(destination, "a=1", { cvc: true, holder: true })).toMatchObject({ type: "refused" });
    let deep: unknown = 1;
    for (let depth = 0; depth < 30; depth++) deep = [deep];
    expect(plan({ deep })).toMatchObject({ type: "refused" });
  });
});

describe("fillProbe()", () => {
  it("puts the test card in every field for a part of a card, and leaves the rest", () => {
    const destination = findProxyDestination({ connector: "SANDBOX_B", operation: "authorize" })!;
    const body = { amount: 0, paymentMethod: { number: "{{card.number}}", cvc: "{{card.cvc}}", type: "scheme" } };
    const planned = planProxyBody(destination, JSON.stringify(body), { cvc: true, holder: true });
    if (planned.type !== "body") throw new Error(planned.reason);
    const filled = (gateway: string) => JSON.parse(fillProbe(planned.value, gateway, new Date("2026-05-01T00:00:00Z")));
    expect(filled("SANDBOX_B")).toEqual({
      amount: 0,
      paymentMethod: { number: "4242424242424242", cvc: "123", type: "scheme" },
    });
    expect(filled("ADYEN").paymentMethod).toEqual({ number: "4111111111111111", cvc: "737", type: "scheme" });
  });
});

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
    expect(reserved("proxy-request.ts")).toBeDefined();
    expect(reserved("proxy-request.ts")).toBe(reserved("../../vault/forward.ts"));
  });
});
