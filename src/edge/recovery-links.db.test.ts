import type { AddressInfo } from "node:net";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { RenewalFixture } from "../core/stored-cards/renewals/renewals.fixture.ts";
import { startLimitedEdge } from "../dev/testing/edge/limited-edge.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { requestLimitBounds } from "../limits.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { createAuthenticate } from "./authenticate.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createPublicServer } from "./public-server.ts";

const edge = await forFile(startEdgeFixture);
const fixture = new RenewalFixture(edge.core);
beforeAll(() => edge.core.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]));

const valid = { amountMinor: 900, currency: "EUR", orderRef: "invoice-1" };
const newAgreement = async () => encodeId("agr", await fixture.agree());
const make = (of: string, fields: object = valid, headers: Record<string, string> = {}) =>
  edge.call("POST", `/agreements/${of}/recovery-links`, { body: JSON.stringify(fields), headers });
const tokenOf = ({ json }: Awaited<ReturnType<typeof make>>) => new URL(json.url).hash.slice(1);
const base = `http://127.0.0.1:${edge.port}`;
const open = async (link: unknown, origin = base) => {
  const headers = { "x-forwarded-for": "93.184.216.34" };
  const answer = await fetch(`${origin}/recover/open`, { method: "POST", body: JSON.stringify({ link }), headers });
  return { status: answer.status, headers: answer.headers, json: await answer.json() };
};
type Opened = { readonly sessionId: string; readonly clientSecret: string };
const rpc = (method: string, body: object, clientSecret: string, headers: Record<string, string>, origin = base) =>
  fetch(`${origin}/payments.v1.CheckoutService/${method}`, {
    method: "POST",
    headers: { authorization: `Bearer ${clientSecret}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

describe("POST /api/v1/agreements/{agreementId}/recovery-links", () => {
  it("answers 200 with the address and its end, and a repeat the same", async () => {
    const of = await newAgreement();
    const { status, json } = await make(of, { ...valid, expiresInHours: 2, returnTo: "https://shop.example/account" });
    expect(status).toBe(200);
    expect(json.url).toMatch(/^https:\/\/pay\.example\/recover#rl_[0-9a-z]{26}_t1_1_[\w-]{43}$/);
    expect(Math.round((Date.parse(json.expiresAt) - Date.now()) / 3_600_000)).toBe(2);
    const week = await make(of);
    expect(week.json.url).toBe(json.url);
    expect(Math.round((Date.parse(week.json.expiresAt) - Date.now()) / 3_600_000)).toBe(168);
  });

  it.each([
    { change: { amountMinor: 0 }, param: "amountMinor" },
    { change: { expiresInHours: 721 }, param: "expiresInHours" },
    { change: { expiresInHours: 0 }, param: "expiresInHours" },
    { change: { returnTo: "http://shop.example/" }, param: "returnTo" },
    { change: { returnTo: "javascript:alert(1)" }, param: "returnTo" },
    { change: { returnTo: "https://a:b@shop.example/" }, param: "returnTo" },
    { change: { returnTo: "//shop.example" }, param: "returnTo" },
    { change: { renewalRef: "a\nb" }, param: "renewalRef" },
  ])("refuses $change", async ({ change, param }) => {
    const { status, json } = await make(await newAgreement(), { ...valid, ...change });
    expect([status, json.code, json.errors[0].param]).toEqual([400, "invalid_field", param]);
  });

  it("refuses another amount, another merchant's agreement, and a publishable key", async () => {
    const of = await newAgreement();
    await make(of);
    const other = await make(of, { ...valid, amountMinor: 901 });
    expect([other.status, other.json.code, other.json.errors[0].param]).toEqual([400, "invalid_field", "amountMinor"]);
    const stranger = await edge.addMerchant();
    const strange = await make(of, valid, { authorization: `Bearer ${stranger.secret}` });
    expect([strange.status, strange.json.code]).toEqual([404, "not_found"]);
    const publishable = await make(of, valid, { authorization: `Bearer ${edge.keys.publishable}` });
    expect(publishable.status).toBe(403);
  });
});

describe("the page of a link", () => {
  it("is never framed, tells no other page its address, is in no index, and loads nothing of others", async () => {
    const page = await fetch(`${base}/recover`);
    expect([page.status, await page.text()]).toEqual([200, "a link's page"]);
    const policy = page.headers.get("content-security-policy")!.split("; ");
    expect(policy).toEqual([
      ...["default-src 'none'", "script-src 'self' https://vault.example", "connect-src 'self'"],
      ...["frame-src https://vault.example", "style-src 'sha256-style'", "form-action 'none'", "base-uri 'none'"],
      ...["frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types switchyard"],
    ]);
    expect(Object.fromEntries(page.headers)).toMatchObject({
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-type": "text/html; charset=utf-8",
    });
    expect((await fetch(`${base}/recover`, { method: "POST" })).status).toBe(405);
    expect((await fetch(`${base}/recover/open`)).status).toBe(405);
    expect((await fetch(`${base}/recover/other`)).status).toBe(404);
  });

  it("opens the link, and its widget's calls come from no other page", async () => {
    const opened = await open(tokenOf(await make(await newAgreement())));
    expect([opened.status, opened.json]).toEqual([
      200,
      {
        state: "open",
        merchantName: "Example Shop",
        amountMinor: 900,
        currency: "EUR",
        orderRef: valid.orderRef,
        text: "Charged each month.",
        card: { brand: "visa", last4: "4242" },
        session: {
          sessionId: expect.stringMatching(/^ps_/),
          clientSecret: expect.stringMatching(/^ps_.*_secret_t1_/),
          vault: expect.objectContaining({ publishableKey: edge.keys.publishable, storedCards: true }),
        },
      },
    ]);
    const { sessionId, clientSecret } = opened.json.session;
    const key = { "publishable-key": edge.keys.publishable };
    const own = await rpc("GetCheckout", { sessionId }, clientSecret, { ...key, origin: "https://pay.example" });
    expect([own.status, await own.json()]).toMatchObject([200, { checkout: { sessionId, amountMinor: "900" } }]);
  });

  it("gives its widget no right that other sessions have not, and other pages none to its session", async () => {
    const { test } = edge.parts.environments;
    const server = createPublicServer({
      ...edge.parts,
      environments: { test: { ...test!, anyOriginWhenNoneRegistered: false } },
      authenticate: createAuthenticate({ test: { ...test!, anyOriginWhenNoneRegistered: false } }, "switchyard"),
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const strict = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const statusOf = async ({ sessionId, clientSecret }: Opened, origin: string) => {
      const headers = { "publishable-key": edge.keys.publishable, origin };
      return (await rpc("GetCheckout", { sessionId }, clientSecret, headers, strict)).status;
    };
    const { session } = (await open(tokenOf(await make(await newAgreement())))).json;
    expect(await statusOf(session, "https://pay.example")).toBe(200);
    expect(await statusOf(session, "https://evil.example")).toBe(403);
    const plain = await edge.call("POST", "/payment-sessions", { body: JSON.stringify(valid) });
    expect(await statusOf(plain.json, "https://pay.example")).toBe(403);
  });

  it("is limited by address, by link and by merchant", async () => {
    const token = tokenOf(await make(await newAgreement()));
    const limit = { perSecond: requestLimitBounds.perSecond.default, burst: 300 };
    const limited = await startLimitedEdge(edge, limit, { nowMs: () => 0 });
    onTestFinished(() => limited.close());
    const policies = new Set<string | null>();
    for (let nth = 0; nth < 20; nth++) {
      const { status, headers } = await open(token, limited.publicOrigin);
      expect(status).toBe(200);
      policies.add(headers.get("ratelimit-policy"));
    }
    const refused = await open(token, limited.publicOrigin);
    expect([refused.status, refused.json.code]).toEqual([429, "rate_limited"]);
    expect(refused.headers.get("ratelimit-policy")).toMatch(/^"return"/);
    expect([...policies].join()).toMatch(/^"checkout"/);
    const statements = limited.statements.length;
    for (let nth = 21; nth < 200; nth++) expect((await open("rl_1", limited.publicOrigin)).status).toBe(404);
    expect((await open("rl_1", limited.publicOrigin)).status).toBe(429);
    expect(limited.statements.length).toBe(statements);
  });

  it("says what is over, and nothing of a link that is none", async () => {
    const of = await newAgreement();
    const token = tokenOf(await make(of));
    await edge.call("POST", `/agreements/${of}/cancel`, { body: "{}" });
    expect((await open(token)).json).toEqual({ state: "over", merchantName: "Example Shop" });
    const wrong = [
      `${token.slice(0, -1)}${token.endsWith("A") ? "E" : "A"}`,
      token.replace("_t1_", "_l1_"),
      "",
      7,
      null,
    ];
    for (const link of wrong) {
      const { status, json } = await open(link);
      expect([status, json.code]).toEqual([404, "not_found"]);
    }
    const broken = await fetch(`${base}/recover/open`, { method: "POST", body: "no JSON" });
    expect(broken.status).toBe(404);
    const large = await fetch(`${base}/recover/open`, { method: "POST", body: "x".repeat(2_000) });
    expect(large.status).toBe(413);
  });

  it("says that the merchant's own charge is under way, and that the renewal is paid", async () => {
    const of = await newAgreement();
    const token = tokenOf(await make(of));
    await edge.core.sandbox.hold("a.authorize");
    const charging = edge.call("POST", `/agreements/${of}/payment-sessions`, {
      body: JSON.stringify(valid),
      headers: { "Idempotency-Key": systemRuntime.uuid() },
    });
    await edge.core.sandbox.paused({ operation: "a.authorize" });
    const meanwhile = await open(token);
    await edge.core.sandbox.release({});
    expect((await charging).json.status).toBe("SUCCEEDED");
    const shown = { merchantName: "Example Shop", amountMinor: 900, currency: "EUR", orderRef: valid.orderRef };
    expect(meanwhile.json).toEqual({ state: "beingPaid", ...shown });
    expect((await open(token)).json).toEqual({ state: "paid", ...shown });
  });
});
