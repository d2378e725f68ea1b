import { describe, expect, it } from "vitest";
import { generateKey } from "../accounts/api-keys.ts";
import { issueKey } from "../accounts/issue-keys.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);

const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1042" };
const create = (body: string, headers: Record<string, string> = {}) =>
  edge.call("POST", "/payment-sessions", { body, headers });

describe("POST /api/v1/payment-sessions", () => {
  it("answers 201 with exactly the documented fields and headers", async () => {
    const { status, headers, json } = await create(JSON.stringify({ ...order, customerEmail: "ada@shop.example" }));
    expect(status).toBe(201);
    expect(Object.keys(json)).toEqual([
      "sessionId",
      "clientSecret",
      "status",
      "expiresAt",
      "vault",
      "orderRef",
      "amountMinor",
      "currency",
    ]);
    expect(json).toMatchObject({
      ...order,
      status: "CREATED",
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
    });
    expect(headers.get("location")).toBe(`/api/v1/payment-sessions/${json.sessionId}`);
    expect(headers.get("request-id")).toMatch(/^req_[0-9a-z]{26}$/);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("strict-transport-security")).toBe("max-age=63072000");
    const missing = await edge.call("GET", "/nothing");
    expect([missing.status, missing.headers.get("strict-transport-security")]).toEqual([404, "max-age=63072000"]);
  });

  it.each([
    ["of the body", { "amount-minor": 1 }, "The body has a member that is not a field of this request."],
    [
      "in an object",
      { ...order, billingAddress: { line1: "a", city: "b", postalCode: "1", country: "DE", "post-code": "1" } },
      "billingAddress has a member that is not a field of this request.",
    ],
    ["of the merchant's own", { ...order, metadata: { "a b": 1 } }, "metadata has a member that must be a string."],
  ])("does not repeat an unusual name, and says that it is about a member: %s", async (_, body, detail) => {
    expect((await create(JSON.stringify(body))).json.detail.replace(/ \(and \d more\)/, "")).toBe(detail);
  });

  it("refuses with the code's page and the request's id", async () => {
    const { status, headers, json } = await create(JSON.stringify({ ...order, currency: "XAU" }));
    const code = "invalid_field";
    expect([status, json]).toMatchObject([400, { status: 400, code, type: `https://docs.example/errors#${code}` }]);
    expect(json.requestId).toBe(headers.get("request-id"));
  });
});

describe("authentication", () => {
  const answerTo = async (authorization: string) => {
    const { status, headers, json } = await edge.call("GET", "/payment-sessions", { headers: { authorization } });
    expect([status, json.code, headers.get("www-authenticate")]).toEqual([401, "invalid_key", "Bearer"]);
    return { ...json, requestId: "" };
  };

  it("gives malformed, unknown and revoked keys one identical answer", async () => {
    const mistyped = edge.keys.secret.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    const named = { brand: "switchyard", environment: "test" };
    const unknown = generateKey(systemRuntime, { ...named, kind: "secret" }).expose();
    const revoked = await edge.core.core.database.transaction(async (tx) => {
      const of = { merchantId: systemRuntime.uuid(), kind: "secret" } as const;
      const key = await issueKey(tx, { ...named, runtime: systemRuntime }, of);
      await issueKey(tx, { ...named, runtime: systemRuntime }, of);
      return key.expose();
    });
    const [first, ...others] = await Promise.all(
      ["x", mistyped, unknown, revoked].map((key) => answerTo(`Bearer ${key}`)),
    );
    expect(first?.detail).toMatch(/^This key is not in use/);
    for (const other of others) expect(other).toEqual(first);
  });

  it.each([
    ["no key", "", /^The request has no key\. Send .*`Authorization: Bearer <key>`/],
    ["another scheme", "Basic KEY", /^The Authorization header is not of the form `Bearer <key>`/],
    ["the key alone", "KEY", /^The Authorization header is not of the form `Bearer <key>`/],
    ["two spaces", "Bearer  KEY", /^The Authorization header is not of the form/],
  ])("names %s in the detail, without the key", async (_, header, detail) => {
    const refused = await answerTo(header.replace("KEY", edge.keys.secret));
    expect(refused.detail).toMatch(detail);
    expect(JSON.stringify(refused)).not.toContain(edge.keys.secret);
  });

  it("refuses a publishable key on a server endpoint", async () => {
    const headers = { authorization: `Bearer ${edge.keys.publishable}` };
    const { status, json } = await edge.call("GET", "/payment-sessions", { headers });
    expect([status, json.code]).toEqual([403, "key_type_not_allowed"]);
  });

  it("comes before the body is read", async () => {
    const { status } = await create("not json", { authorization: "Bearer x" });
    expect(status).toBe(401);
  });
});

describe("GET /api/v1/payment-sessions", () => {
  it("shows a session without its secret, and refuses an unknown id like another merchant's", async () => {
    const { json: created } = await create(JSON.stringify(order));
    const { status, json, text } = await edge.call("GET", `/payment-sessions/${created.sessionId}`);
    expect(status).toBe(200);
    expect(json).toMatchObject({ ...order, status: "CREATED", failover: false, processing: false, attempts: [] });
    expect(text).not.toMatch(/clientSecret|vault|null/);
    const unknown = [encodeId("ps", systemRuntime.uuid()), "ps_0123456789abcdefghjkmnpqrs", "x", "att_1"];
    for (const id of unknown) {
      const answer = await edge.call("GET", `/payment-sessions/${id}`);
      expect([answer.status, answer.json.code]).toEqual([404, "not_found"]);
    }
  });

  it("lists without attempts, by filter and page", async () => {
    await create(JSON.stringify({ ...order, orderRef: "listed" }));
    await create(JSON.stringify({ ...order, orderRef: "listed" }));
    const first = await edge.call("GET", "/payment-sessions?orderRef=listed&pageSize=1");
    expect(first.json.paymentSessions).toHaveLength(1);
    expect(first.json.paymentSessions[0]).not.toHaveProperty("attempts");
    const token = encodeURIComponent(first.json.nextPageToken);
    const second = await edge.call("GET", `/payment-sessions?orderRef=listed&pageSize=1&pageToken=${token}`);
    expect(second.json.paymentSessions[0].sessionId).not.toBe(first.json.paymentSessions[0].sessionId);
    expect(second.json).not.toHaveProperty("nextPageToken");
  });
});

describe("the public port", () => {
  it("answers meta without a credential", async () => {
    const { status, json } = await edge.call("GET", "/meta", { headers: { authorization: "" } });
    expect(status).toBe(200);
    expect(json).toEqual({ service: "switchyard", time: "2026-01-02T03:04:05.600Z", version: "1.2.3" });
  });

  it("reports a path's methods, or that a path is unknown, in the same shape", async () => {
    const wrong = await edge.call("DELETE", "/payment-sessions");
    expect([wrong.status, wrong.json.code, wrong.headers.get("allow")]).toEqual([
      405,
      "method_not_allowed",
      expect.stringContaining("POST"),
    ]);
    const unknown = await edge.call("GET", "/refunds");
    expect([unknown.status, unknown.json.code, unknown.json.requestId]).toEqual([
      404,
      "not_found",
      unknown.headers.get("request-id"),
    ]);
  });
});

describe("CheckoutService", () => {
  const rpc = (method: string, clientSecret: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${edge.port}/payments.v1.CheckoutService/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${clientSecret}`, ...headers },
      body: JSON.stringify(body),
    });

  it("serves a session to its own client secret only", async () => {
    const { json: mine } = await create(JSON.stringify(order));
    const { json: other } = await create(JSON.stringify(order));
    const key = { "publishable-key": mine.vault.publishableKey };
    const read = await rpc("GetCheckout", mine.clientSecret, { sessionId: mine.sessionId }, key);
    expect([read.status, (await read.json()).checkout]).toMatchObject([
      200,
      {
        status: "CREATED",
        amountMinor: "4900",
        merchantName: expect.stringMatching(/./),
        expiresInSeconds: expect.any(Number),
      },
    ]);
    for (const secret of [other.clientSecret, edge.keys.secret, "x"]) {
      const refused = await rpc("GetCheckout", secret, { sessionId: mine.sessionId });
      expect([refused.status, (await refused.json()).details?.[0]?.debug?.reason]).toEqual([
        401,
        "INVALID_CLIENT_SECRET",
      ]);
    }
  });

  it("shows an open session to no form with another publishable key than the merchant's", async () => {
    const { json: mine } = await create(JSON.stringify(order));
    const foreign = (await edge.addMerchant()).publishable;
    for (const key of ["", "x", foreign, edge.keys.secret]) {
      const headers = { "publishable-key": key };
      const refused = await rpc("GetCheckout", mine.clientSecret, { sessionId: mine.sessionId }, headers);
      const { message, details } = await refused.json();
      expect([refused.status, details[0].debug.reason]).toEqual([401, "INVALID_KEY"]);
      expect(message).toMatch(/^The form's publishable key is another merchant's, or replaced since/);
    }
  });

  it("answers a preflight for any page, and lets a page read the refusal", async () => {
    const origin = { origin: "https://shop.example" };
    const preflight = await fetch(`http://127.0.0.1:${edge.port}/payments.v1.CheckoutService/GetCheckout`, {
      method: "OPTIONS",
      headers: { ...origin, "access-control-request-method": "POST" },
    });
    expect([
      preflight.status,
      preflight.headers.get("access-control-allow-origin"),
      preflight.headers.get("access-control-max-age"),
      preflight.headers.get("access-control-allow-headers")?.split(", ").includes("publishable-key"),
    ]).toEqual([204, "https://shop.example", "7200", true]);
    const refused = await rpc("GetCheckout", "x", { sessionId: "ps_x" }, origin);
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, "https://shop.example"]);
  });
});
