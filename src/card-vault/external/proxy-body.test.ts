import { describe, expect, it } from "vitest";
import type { ProxyDestination } from "./destinations.ts";
import { planProxyBody } from "./proxy-body.ts";

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
