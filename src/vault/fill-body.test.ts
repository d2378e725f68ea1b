import { describe, expect, it } from "vitest";
import type { Card } from "./card.ts";
import { destinations, findDestination } from "./destinations.ts";
import { planFill } from "./fill-body.ts";

const card: Card = { number: "4242424242424242", expMonth: 4, expYear: 2031, cvc: "123", holder: 'Zoë "Z" & Söhne' };
const form = findDestination(destinations, { connector: "SANDBOX_A", operation: "authorize" });
const json = findDestination(destinations, { connector: "SANDBOX_B", operation: "authorize" });
const filled = (destination: Parameters<typeof planFill>[0], body: string, of: Card = card) =>
  planFill(destination, Buffer.from(body))(of);

describe("planFill() of a form", () => {
  it("fills each part into its own field, encoded, and keeps the meaning of the rest", () => {
    const body = "amount=4900&metadata[order]=a+b%26c&card[number]={{card.number}}&card%5Bcvc%5D=%7B%7Bcard.cvc%7D%7D";
    const sent = new URLSearchParams(
      filled(form, `${body}&card[exp_month]={{card.expMonth}}&card[holder]={{card.holder}}`),
    );
    expect(Object.fromEntries(sent)).toEqual({
      amount: "4900",
      "metadata[order]": "a b&c",
      "card[number]": "4242424242424242",
      "card[cvc]": "123",
      "card[exp_month]": "04",
      "card[holder]": 'Zoë "Z" & Söhne',
    });
  });

  it("omits the name if the customer gave none", () => {
    expect(filled(form, "card[holder]={{card.holder}}&a=1", { ...card, holder: undefined })).toBe("a=1");
  });

  it.each([
    ["another field", "metadata[note]={{card.number}}"],
    ["another field, escaped", "metadata[note]=%7b%7bcard.number%7d%7d"],
    ["the wrong part's field", "card[holder]={{card.number}}"],
    ["part of a value", "card[number]=x{{card.number}}"],
    ["two in one value", "card[number]={{card.number}}{{card.number}}"],
    ["a field's name", "{{card.number}}=1"],
    ["a field named like an object's own", "constructor={{card.number}}"],
    ["a misspelt placeholder", "card[number]={{card.nmber}}"],
    ["a broken encoding", "card[number]=%zz"],
  ])("refuses %s", (_, body) => {
    expect(() => filled(form, body)).toThrow(expect.objectContaining({ code: "invalid_field", field: "body" }));
  });
});

describe("planFill() of a stored card, which has no security code", () => {
  const { cvc: _, ...stored } = card;

  it.each([
    [
      "STRIPE",
      "payment_method",
      "card[number]={{card.number}}&card[cvc]={{card.cvc}}",
      "card%5Bnumber%5D=4242424242424242",
    ],
    ["SANDBOX_A", "authorize", "card[cvc]={{card.cvc}}&amount=4900", "amount=4900"],
    [
      ...["ADYEN", "payment"],
      '{"paymentMethod":{"number":"{{card.number}}","cvc":"{{card.cvc}}"},"shopperInteraction":"ContAuth"}',
      '{"paymentMethod":{"number":"4242424242424242"},"shopperInteraction":"ContAuth"}',
    ],
    ["SANDBOX_B", "authorize", '{"paymentMethod":{"cvc":"{{card.cvc}}"}}', '{"paymentMethod":{}}'],
    [
      ...["PAYPAL", "authorize"],
      '{"payment_source":{"card":{"expiry":"{{card.expYear}}-{{card.expMonth}}","security_code":"{{card.cvc}}"}}}',
      '{"payment_source":{"card":{"expiry":"2031-04"}}}',
    ],
  ] as [string, string, string, string][])("omits the code at %s %s", (connector, operation, body, sent) => {
    expect(filled(findDestination(destinations, { connector, operation }), body, stored)).toBe(sent);
  });
});

describe("planFill() of JSON", () => {
  it.each([
    ["cartes_bancaires", { brand: "cartebancaire" }],
    ["mastercard", { brand: "mc" }],
    [undefined, {}],
  ])("writes the chosen brand %s as Adyen names it", (brand, paymentMethod) => {
    const adyen = findDestination(destinations, { connector: "ADYEN", operation: "payment" });
    const body = '{"paymentMethod":{"brand":"{{card.adyenBrand}}"}}';
    expect(JSON.parse(filled(adyen, body, { ...card, brand }))).toEqual({ paymentMethod });
  });

  it("fills each part at its own pointer, escaped", () => {
    const body = {
      amount: { value: 4900 },
      paymentMethod: { number: "{{card.number}}", expiryYear: "{{card.expYear}}", holderName: "{{card.holder}}" },
    };
    expect(JSON.parse(filled(json, JSON.stringify(body)))).toEqual({
      amount: { value: 4900 },
      paymentMethod: { number: "4242424242424242", expiryYear: "2031", holderName: 'Zoë "Z" & Söhne' },
    });
  });

  it("omits the name if the customer gave none", () => {
    const body = { paymentMethod: { holderName: "{{card.holder}}", cvc: "{{card.cvc}}" } };
    expect(filled(json, JSON.stringify(body), { ...card, holder: undefined })).toBe('{"paymentMethod":{"cvc":"123"}}');
  });

  it.each([
    ["another member", '{"reference":"{{card.number}}"}'],
    ["another member, escaped", '{"reference":"\\u007b\\u007bcard.number}}"}'],
    ["a member's name", '{"{{card.number}}":1}'],
    ["a list at the place", '{"paymentMethod":{"number":["{{card.number}}"]}}'],
    ["a name that spells the pointer", '{"paymentMethod/number":"{{card.number}}"}'],
    ["a whole string", '"{{card.number}}"'],
    ["part of a value", '{"paymentMethod":{"number":"{{card.number}} "}}'],
    ["no JSON", "{"],
    ["a bottomless nest", "[".repeat(5_000) + "]".repeat(5_000)],
  ])("refuses %s", (_, body) => {
    expect(() => filled(json, body)).toThrow(expect.objectContaining({ code: "invalid_field", field: "body" }));
  });

  it("sends the checked value when a member occurs twice", () => {
    const body = '{"paymentMethod":{"number":"{{card.number}}","number":"0"}}';
    expect(filled(json, body)).toBe('{"paymentMethod":{"number":"0"}}');
  });

  it("fills dates that a gateway takes in one field", () => {
    const row = {
      contentType: "application/json",
      fields: { "/expiry": "{{card.expYear}}-{{card.expMonth}}" },
    } as const;
    expect(filled(row, '{"expiry":"{{card.expYear}}-{{card.expMonth}}"}')).toBe('{"expiry":"2031-04"}');
    const short = {
      contentType: "application/x-www-form-urlencoded",
      fields: { e: "{{card.expMonth}}{{card.expYear2}}" },
    } as const;
    expect(filled(short, "e={{card.expMonth}}{{card.expYear2}}", { ...card, expYear: 2105 })).toBe("e=0405");
    expect(() => filled(short, "e={{card.expYear2}}{{card.expMonth}}")).toThrow(
      expect.objectContaining({ field: "body" }),
    );
  });
});
