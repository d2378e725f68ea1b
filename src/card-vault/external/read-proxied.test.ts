import { describe, expect, it } from "vitest";
import type { GatewayReply } from "../../platform/outbound-http.ts";
import { readStoredCard } from "./read-card.ts";
import { readProxied } from "./read-proxied.ts";

const json = { "content-type": "application/json" };

function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = json): GatewayReply {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { type: "answer", status, headers, body: new TextEncoder().encode(text) };
}

const refusal = (status: number, code: string) =>
  answer(status, { error: { type: "invalid_request", message: "4242424242424242", code } });
const textOf = (reply: GatewayReply) => (reply.type === "answer" ? new TextDecoder().decode(reply.body) : undefined);

describe("readProxied()", () => {
  it("returns the gateway's own status, headers and body, with card data masked", () => {
    const framed = {
      response: { pspReference: "P1", echo: "4242424242424242" },
      status_code: 402,
      response_headers: { "Content-Type": "application/json", "content-length": "12", "x-echo": "4242424242424242" },
    };
    const reply = readProxied(answer(200, framed), "4242");
    expect(reply).toMatchObject({
      type: "answer",
      status: 402,
      headers: { "content-type": "application/json", "x-echo": "************4242" },
    });
    expect(reply).not.toMatchObject({ headers: { "content-length": expect.anything() } });
    expect(textOf(reply)).toBe('{"pspReference":"P1","echo":"************4242"}');
  });

  it.each<[number, string, string]>([
    [400, "IR_06", "request_refused"],
    [401, "IR_01", "vault_unavailable"],
    [403, "IR_17", "vault_unavailable"],
    [405, "IR_03", "vault_unavailable"],
    [404, "IR_02", "vault_unavailable"],
    [404, "HE_02", "token_unusable"],
    [422, "IR_05", "token_unusable"],
  ])("knows that nothing was sent after the vault's own %i %s: %s", (status, code, cause) => {
    const reply = readProxied(refusal(status, code), "4242");
    expect(reply).toMatchObject({ type: "neverSent", cause });
    expect(JSON.stringify(reply)).not.toContain("4242424242424242");
  });

  it("leaves the result of a 500 unknown, since the vault also returns it when a gateway cannot be reached", () => {
    const reply = readProxied(refusal(500, "HE_00"), "4242");
    expect(reply).toMatchObject({ type: "noAnswer", timedOut: false });
    expect(reply).not.toHaveProperty("lostAtVault");
  });

  it.each<[string, GatewayReply]>([
    ["a 400 of somebody in between", answer(400, "<html>", { "content-type": "text/html" })],
    ["a 404 without a code", answer(404, { error: { message: "no" } })],
    ["a 500 without a code", answer(500, "oops")],
    ["a 429", refusal(429, "IR_99")],
    ["a 400 of a gateway's making", refusal(400, "CE_01")],
    ["a 422 that promises nothing", refusal(422, "HE_00")],
    ["a 404 of an unknown kind", refusal(404, "WE_01")],
    ["a 503", refusal(503, "HE_00")],
    ["a 200 that is no frame", answer(200, { response: {} })],
    ["a 200 with a status that is none", answer(200, { response: {}, status_code: "200" })],
    ["a 200 that is no JSON", answer(200, "{")],
    ["a connection that broke", { type: "noAnswer", timedOut: false, reason: "broke" }],
  ])("treats %s as lost at the vault, and not as an answer of the gateway", (_, reply) => {
    expect(readProxied(reply, "4242")).toMatchObject({ type: "noAnswer", timedOut: false, lostAtVault: true });
  });

  it("treats silence as possibly the gateway's", () => {
    const reply = readProxied({ type: "noAnswer", timedOut: true, reason: "late" }, "4242");
    expect(reply).toEqual({ type: "noAnswer", timedOut: true, reason: "late" });
  });

  it("blames the vault, and no gateway, if the vault itself cannot be connected to", () => {
    const unreachable: GatewayReply = { type: "neverSent", cause: "connection_refused", reason: "no" };
    expect(readProxied(unreachable, "4242")).toMatchObject({ type: "neverSent", cause: "vault_unavailable" });
  });
});

describe("readStoredCard()", () => {
  const stored = {
    id: "12345_pm_1",
    storage_type: "volatile",
    payment_method_data: { card: { card_network: "AmericanExpress", last4_digits: "8431", card_holder_name: "Ada" } },
    card_cvc_token_storage: { is_stored: true },
    raw_payment_method_data: { card: { card_number: "378282246310005" } },
  };

  it("reads the permanent id, the parts that are left, and the card summary; never raw data", () => {
    const reading = readStoredCard(answer(200, stored));
    expect(reading).toEqual({
      type: "card",
      card: {
        methodId: "12345_pm_1",
        tokenType: "volatile_payment_method_id",
        parts: { cvc: true, holder: true },
        shown: { brand: "amex", last4: "8431" },
      },
    });
  });

  it("asks for no security code that may be gone, and shows no card without a summary", () => {
    for (const gone of [{ card_cvc_token_storage: { is_stored: false } }, { card_cvc_token_storage: null }]) {
      expect(readStoredCard(answer(200, { ...stored, ...gone }))).toMatchObject({ card: { parts: { cvc: false } } });
    }
    const bare = { id: "pm_1", storage_type: "persistent" };
    expect(readStoredCard(answer(200, bare))).toEqual({
      type: "card",
      card: {
        methodId: "pm_1",
        tokenType: "payment_method_id",
        parts: { cvc: false, holder: false },
        shown: undefined,
      },
    });
    const odd = { ...bare, payment_method_data: { card: { card_network: "constructor", last4_digits: "12345" } } };
    expect(readStoredCard(answer(200, odd))).toMatchObject({ card: { shown: undefined } });
  });

  it("distinguishes a token that is gone from a vault that cannot be used", () => {
    expect(readStoredCard(refusal(404, "HE_02"))).toMatchObject({ reply: { cause: "token_unusable" } });
    for (const reply of [
      refusal(404, "IR_02"),
      refusal(401, "IR_01"),
      refusal(500, "HE_00"),
      answer(404, "<html>", { "content-type": "text/html" }),
      answer(200, { id: "../x" }),
      { type: "noAnswer", timedOut: true, reason: "late" } as const,
      { type: "neverSent", cause: "connection_refused", reason: "no" } as const,
    ]) {
      expect(readStoredCard(reply)).toMatchObject({ reply: { type: "neverSent", cause: "vault_unavailable" } });
    }
  });
});

const number = "4242424242424242";
const masked = "************4242";
const maskWith = (last4: string | undefined, response: unknown) =>
  JSON.parse(textOf(readProxied(answer(200, { status_code: 200, response }), last4)) ?? "");
const mask = (response: unknown) => maskWith("4242", response);

describe("readProxied() of card data in an answer", () => {
  it("masks the card's own number anywhere, and leaves its last four digits", () => {
    const echo = {
      a: number,
      b: Number(number),
      c: [`for ${number}.`],
      d: { [number]: `x${number}` },
      e: "4242 4242 4242 4242",
    };
    expect(mask(echo)).toEqual({
      a: masked,
      b: masked,
      c: [`for ${masked}.`],
      d: { [masked]: `x${masked}` },
      e: "**** **** **** 4242",
    });
  });

  it("masks another plausible number in text, or under a card's name, and keeps references intact", () => {
    expect(mask({ message: "card 5555555555554444 refused", number: "5555555555554444" })).toEqual({
      message: "card ************4444 refused",
      number: "************4444",
    });
    const references = {
      pspReference: "5555555555554444",
      id: "auth_5555555555554444",
      uuid: "01890a5d-ac96-4555-5555-555555554444",
      time: 1763733600000,
      amount: 4900,
    };
    expect(mask(references)).toEqual(references);
  });

  it("masks a security code under a name of its kind", () => {
    expect(mask({ cvc: "737", card: { securityCode: "1234" }, cvcResult: "737" })).toEqual({
      cvc: "***",
      card: { securityCode: "****" },
      cvcResult: "737",
    });
  });

  it("still masks named values and text when nothing is known of the card", () => {
    expect(maskWith(undefined, { pan: number, message: `for ${number}` })).toEqual({
      pan: masked,
      message: `for ${masked}`,
    });
  });
});
