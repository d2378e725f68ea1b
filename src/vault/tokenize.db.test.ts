import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { signSessionGrant } from "../platform/service-token-signing.ts";
import { tokenize } from "./tokenize.ts";
import { keyPair, listingCounts, liveCard, startVaultFixture, testCard } from "./vault.fixture.ts";
import { callLimits } from "./vault-limits.ts";

const fixture = await forFile(() => startVaultFixture({ trustedProxies: ["127.0.0.1"] }));

/** Returns the header of an address; each test counts under an address of its own. */
const from = (address: string) => ({ headers: { "x-forwarded-for": address } });

describe("POST /tokens", () => {
  it("returns a token, the brand, the last four digits and the token's expiry", async () => {
    const response = await fixture.tokenize("ps_new", testCard, from("93.184.2.1"));
    expect(response.status).toBe(201);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("request-id")).toMatch(/^req_/);
    expect(await response.json()).toEqual({
      token: expect.stringMatching(/^tok_[\w-]{100,251}$/),
      brand: "visa",
      last4: "4242",
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  it("keeps neither the token nor the number where the database can read them", async () => {
    const { token } = await (await fixture.tokenize("ps_sealed", testCard, from("93.184.2.2"))).json();
    const { rows } = await fixture.database.pool.query("SELECT * FROM card WHERE session_id = 'ps_sealed'");
    expect(rows).toHaveLength(1);
    const row = JSON.stringify(rows) + rows[0].token_hash.toString("latin1");
    expect(row).not.toContain(token.slice(4));
    expect(row).not.toContain(testCard.number);
  });

  it("names every wrong field at once and repeats no value", async () => {
    const wrong = { number: "4242424242424241", expMonth: 13, expYear: 2031, cvc: "12" };
    const response = await fixture.tokenize("ps_wrong", wrong, from("93.184.2.3"));
    const text = await response.text();
    expect(response.status).toBe(400);
    const answer = JSON.parse(text);
    expect(answer).toMatchObject({
      type: "https://docs.example/errors#invalid_field",
      code: "invalid_field",
      status: 400,
      param: "number",
      requestId: response.headers.get("request-id"),
    });
    expect(answer.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(["/number", "/expMonth", "/cvc"]);
    expect(text).not.toContain("4242424242424241");
  });

  it.each([
    ["no JSON", "{", "invalid_json"],
    ["a list", "[]", "invalid_json"],
    ["an unknown field", JSON.stringify({ ...testCard, track2: "x" }), "unknown_field"],
    ["a field twice", JSON.stringify(testCard).replace("{", '{"cvc":"999",'), "duplicate_field"],
    ["a null", JSON.stringify({ ...testCard, cvc: null }), "invalid_field"],
    ["a month as text", JSON.stringify({ ...testCard, expMonth: "4" }), "invalid_field"],
    ["no security code", JSON.stringify({ ...testCard, cvc: undefined }), "missing_field"],
  ])("refuses %s", async (_, body, code) => {
    const response = await fixture.tokenize("ps_strict", body, from("93.184.2.4"));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code });
  });

  it("accepts no real card in test", async () => {
    const response = await fixture.tokenize("ps_real", liveCard, from("93.184.2.5"));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "test_card_required", param: "number" });
  });

  it("accepts a real card in live, which the signed grant decides", async () => {
    const grant = await fixture.grant("ps_live", { environment: "live" });
    const response = await fixture.tokenize("ps_live", liveCard, { grant, ...from("93.184.2.6") });
    expect(response.status).toBe(201);
    const { rows } = await fixture.database.pool.query("SELECT environment FROM card WHERE session_id = 'ps_live'");
    expect(rows).toEqual([{ environment: "live" }]);
  });

  it("refuses a grant that is missing, expired, forged, signed for the other environment, or not a grant", async () => {
    const stranger = keyPair("test").signing;
    const claims = { session: "ps_x", profile: "mer_1", origins: [], expiresAt: new Date(Date.now() + 60_000) };
    const grants = [
      "",
      await fixture.grant("ps_x", { expiresAt: new Date(Date.now() - 60_000) }),
      await signSessionGrant(stranger, claims),
      await signSessionGrant({ ...fixture.signing.test, environment: "live" }, claims),
      await fixture.policy(["https://shop.example"]),
      await fixture.serviceToken(),
    ];
    for (const grant of grants) {
      const response = await fixture.tokenize("ps_x", testCard, { grant, ...from("93.184.2.7") });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(await response.json()).toMatchObject({ code: "invalid_client_secret" });
    }
  });

  it("refuses a browser on any other page", async () => {
    const headers = { origin: "https://shop.example", "x-forwarded-for": "93.184.2.8" };
    const response = await fixture.tokenize("ps_page", testCard, { headers });
    expect(response.status).toBe(403);
  });

  it("makes at most ten tokens for one session, also when they are requested concurrently", async () => {
    const calls = Array.from({ length: 14 }, () => fixture.tokenize("ps_many", testCard, from("93.184.2.9")));
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(4);
  });

  it("limits one address, whatever it wrote into X-Forwarded-For", async () => {
    let limited: Response | undefined;
    for (let call = 0; call <= callLimits.address.burst * 2 && limited === undefined; call++) {
      const forged = { "x-forwarded-for": `93.186.113.${call % 200}, 93.184.2.10` };
      const response = await fixture.tokenize(`ps_flood_${call}`, {}, { headers: forged });
      if (response.status === 429) limited = response;
      else await response.body?.cancel();
    }
    expect(limited?.headers.get("retry-after")).toBe("1");
    expect(await limited?.json()).toMatchObject({ code: "rate_limited" });
  });

  it("reads no more than 8 KiB", async () => {
    const response = await fixture.tokenize("ps_big", { holder: "x".repeat(9_000) }, from("93.184.2.11"));
    expect(response.status).toBe(413);
  });

  it("accepts JSON only", async () => {
    const headers = { "content-type": "text/plain", "x-forwarded-for": "93.184.2.12" };
    const response = await fixture.tokenize("ps_text", testCard, { headers });
    expect(response.status).toBe(415);
  });

  it("charges the merchant for what may be a card only, once the caller's own limits have counted the call", async () => {
    const { counted, callCounts } = listingCounts();
    const grant = `Bearer ${fixture.grant("ps_charged", { environment: "live" })}`;
    const post = (body: string) => {
      const headers = { authorization: grant, "content-type": "application/json" };
      const request = Object.assign(Readable.from([Buffer.from(body)]), { headers, method: "POST" });
      const tokenizer = { ...fixture.config, clientOf: () => undefined, callCounts };
      return tokenize(tokenizer, request as unknown as IncomingMessage).catch(({ code }) => code);
    };
    const wrong = { ...liveCard, number: "5555555555554445" };
    for (const body of ["", "{}", JSON.stringify(wrong), JSON.stringify({ ...liveCard, expYear: 2020 })]) {
      expect(await post(body)).toMatch(/^(invalid_json|missing_field|invalid_field)$/);
    }
    expect(counted).toEqual(Array(4).fill("call"));
    expect(await post(JSON.stringify(liveCard))).toMatchObject({ last4: "4444" });
    expect(counted.slice(4)).toEqual(["call", "merchant"]);
  });
});
