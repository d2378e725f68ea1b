import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { generateKey } from "../../accounts/api-keys.ts";
import { returnTokenOf } from "../../core/customer-actions.ts";
import { type LimitedEdge, startLimitedEdge } from "../../dev/testing/edge/limited-edge.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { requestLimitBounds } from "../../limits.ts";
import { decodeId, encodeId } from "../../platform/ids.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { startEdgeFixture } from "../edge.fixture.ts";

const burstOf = { session: 20, address: 200 };

type Session = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly vault: { readonly publishableKey: string };
};

// More than one address may use, so that the rest of it can be measured, and less than one address requests.
const limit = { perSecond: requestLimitBounds.perSecond.default, burst: 1.5 * burstOf.address };

let limited: LimitedEdge;
const edge = await forFile(startEdgeFixture);
beforeEach(async () => {
  // No time passes: however slowly the calls come, no session's and no address's share refills.
  limited = await startLimitedEdge(edge, limit, { nowMs: () => 0 });
});
afterEach(async () => {
  await limited.close();
  expect(edge.bugs).toEqual([]);
});

async function openSessions(count: number): Promise<Session[]> {
  const { secret } = await edge.addMerchant();
  const open = async (): Promise<Session> => {
    const answer = await fetch(`${limited.publicOrigin}/api/v1/payment-sessions`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ amountMinor: 4900, currency: "EUR", orderRef: "order-1" }),
    });
    return (await answer.json()) as Session;
  };
  return Promise.all(Array.from({ length: count }, open));
}

function getCheckout(
  { sessionId, clientSecret, vault }: Session,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${limited.publicOrigin}/payments.v1.CheckoutService/GetCheckout`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${clientSecret}`,
      "publishable-key": vault.publishableKey,
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify({ sessionId }),
  });
}

const policyOf = ({ status, headers }: Response) => [status, headers.get("ratelimit-policy")];

async function statusesOf(count: number, call: () => Promise<Response>): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: count }, call));
  return answers.map(({ status }) => status);
}

function countsOf(statuses: readonly number[]): Record<string, number> {
  const counted = Object.groupBy(statuses, String);
  return Object.fromEntries(Object.entries(counted).map(([status, same]) => [status, same!.length]));
}

describe("one customer's calls", () => {
  it("do not stop the merchant's other customers, however many one session sends", async () => {
    const [greedy, other] = (await openSessions(2)) as [Session, Session];
    const statuses = await statusesOf(2 * limit.burst, () => getCheckout(greedy));
    expect(countsOf(statuses)).toEqual({
      200: burstOf.session,
      429: 2 * limit.burst - burstOf.session,
    });
    const refused = await getCheckout(greedy);
    expect([refused.status, refused.headers.get("ratelimit-policy")]).toEqual([429, '"session";q=20;w=4']);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect((await getCheckout(other)).status).toBe(200);
  });

  it("do not stop them, however many sessions one address opens", async () => {
    const [newcomer, ...sessions] = (await openSessions(40)) as [Session, ...Session[]];
    const from = (address: string) => ({ "x-forwarded-for": address });
    const statuses = await Promise.all(
      sessions.map((session) => statusesOf(15, () => getCheckout(session, from("93.184.216.34")))),
    );
    expect(countsOf(statuses.flat())).toEqual({
      200: burstOf.address,
      429: 39 * 15 - burstOf.address,
    });
    const last = await getCheckout(newcomer, from("93.184.216.34"));
    expect([last.status, last.headers.get("ratelimit-policy")]).toEqual([429, '"address";q=200;w=4']);
    const other = await getCheckout(sessions[0]!, from("93.184.216.35"));
    expect(other.status).toBe(200);
  });

  it("count for no address if the proxies in front are not configured, as all customers would share it", async () => {
    const sessions = await openSessions(10);
    const statuses = await Promise.all(
      sessions.map((session) => statusesOf(10, () => getCheckout(session, { "x-forwarded-for": "10.0.0.9" }))),
    );
    expect(new Set(statuses.flat())).toEqual(new Set([200]));
  });
});

describe("the pages of authentication", () => {
  const get = (path: string, address: string) =>
    fetch(`${limited.publicOrigin}/authentication/test/${path}`, { headers: { "x-forwarded-for": address } });

  it.each(["frame?p=x", "window", "return/ps_1.att_1.AAAA", "return/ps_1.att_1.AAAA/end"])(
    "are limited for each address: %s",
    async (path) => {
      const statuses = await statusesOf(burstOf.address + 20, () => get(path, "93.184.216.40"));
      expect(statuses.filter((status) => status === 429)).toHaveLength(20);
      const last = await get(path, "93.184.216.40");
      expect([last.status, last.headers.get("ratelimit-policy")]).toEqual([429, '"address";q=200;w=4']);
      expect((await get(path, "93.184.216.41")).status).not.toBe(429);
    },
  );

  it("take a customer's return from the bank, however many calls others behind the address sent", async () => {
    const [{ sessionId }] = (await openSessions(1)) as [Session];
    const returning = { sessionId: decodeId("ps", sessionId)!, id: systemRuntime.uuid(), isProvided: false };
    const path = `return/${returnTokenOf(edge.core.core, returning)}`;
    await statusesOf(burstOf.address, () => get("window", "93.184.216.42"));
    expect((await get("window", "93.184.216.42")).status).toBe(429);
    const statuses = await statusesOf(25, () => get(path, "93.184.216.42"));
    expect(countsOf(statuses)).toEqual({ 200: 20, 429: 5 });
    const others = [`${path}A`, path.replace(sessionId, encodeId("ps", systemRuntime.uuid()))];
    for (const forged of others) expect((await get(forged, "93.184.216.42")).status).toBe(429);
  });
});

describe("callers whom this process does not know", () => {
  const from = (address: string) => ({ "x-forwarded-for": address });

  it("count for their address when they guess keys, and nobody else does", async () => {
    const guess = (address: string) => {
      const key = generateKey(systemRuntime, { brand: "switchyard", environment: "test", kind: "secret" }).expose();
      const headers = { authorization: `Bearer ${key}`, ...from(address) };
      return fetch(`${limited.publicOrigin}/api/v1/payment-sessions`, { headers });
    };
    const { secret } = await edge.addMerchant();
    const list = () =>
      fetch(`${limited.publicOrigin}/api/v1/payment-sessions`, {
        headers: { authorization: `Bearer ${secret}`, ...from("93.184.216.50") },
      });
    expect((await list()).status).toBe(200);
    const statuses = await statusesOf(burstOf.address + 9, () => guess("93.184.216.50"));
    expect(countsOf(statuses)).toEqual({ 401: burstOf.address - 1, 429: 10 });
    expect(policyOf(await guess("93.184.216.50"))).toEqual([429, '"address";q=200;w=4']);
    expect((await list()).status).toBe(200);
    expect((await guess("93.184.217.50")).status).toBe(401);
  });

  it("count for their network too, whose addresses share a larger limit", async () => {
    const page = (address: string) =>
      fetch(`${limited.publicOrigin}/authentication/test/window`, { headers: from(address) });
    const statuses = [];
    for (let address = 0; address < 5; address++) {
      statuses.push(...(await statusesOf(180, () => page(`93.184.218.${address}`))));
    }
    expect(countsOf(statuses)).toEqual({ 200: 800, 429: 100 });
    expect(policyOf(await page("93.184.218.9"))).toEqual([429, '"network";q=800;w=4']);
    expect((await page("93.184.219.9")).status).toBe(200);
  });

  it("count for their address when they read a merchant's domain file of Apple Pay", async () => {
    const path = `/.well-known/apple-developer-merchantid-domain-association?environment=test&merchant=`;
    const read = (address: string) =>
      fetch(`${limited.publicOrigin}${path}${encodeId("mer", systemRuntime.uuid())}`, { headers: from(address) });
    const before = limited.statements.length;
    const statuses = await statusesOf(burstOf.address + 10, () => read("93.184.221.1"));
    expect(countsOf(statuses)).toEqual({ 404: burstOf.address, 429: 10 });
    const loads = limited.statements.slice(before).filter((name) => name === "select_merchant_wallets");
    expect(loads).toHaveLength(burstOf.address);
    expect((await read("93.184.221.2")).status).toBe(404);
  });

  it("count for their address when they post notifications, until one of the connection was accepted", async () => {
    const notify = (connection: string, address: string) =>
      fetch(`${limited.publicOrigin}/gateway-notifications/test/${connection}`, {
        method: "POST",
        headers: from(address),
        body: "{}",
      });
    const known = encodeId("gc", systemRuntime.uuid());
    expect((await notify(known, "93.184.220.1")).status).toBe(200);
    const unknown = () => notify(encodeId("gc", systemRuntime.uuid()), "93.184.220.1");
    const statuses = await statusesOf(burstOf.address + 4, unknown);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
    // The gateway's addresses send those of all merchants.
    const ofKnown = await statusesOf(50, () => notify(known, "93.184.220.1"));
    expect(countsOf(ofKnown)).toEqual({ 200: 50 });
  });
});

describe("a merchant's customers", () => {
  it("pay nothing for calls that read nothing: neither for a body that is none, nor for another's session", async () => {
    const [mine, other] = (await openSessions(2)) as [Session, Session];
    const before = limited.statements.length;
    const wrong = [{}, { sessionId: "" }, { sessionId: other.sessionId }, { sessionId: mine.sessionId, x: 1 }];
    for (const body of wrong) {
      const refused = await fetch(`${limited.publicOrigin}/payments.v1.CheckoutService/GetCheckout`, {
        method: "POST",
        headers: { authorization: `Bearer ${mine.clientSecret}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      expect(refused.status).toBeGreaterThanOrEqual(400);
      expect(refused.headers.get("ratelimit-policy")).toBe('"session";q=20;w=4');
    }
    expect(limited.statements.slice(before)).toEqual([]);
    expect((await getCheckout(mine)).headers.get("ratelimit-policy")).toBe('"checkout";q=300;w=3');
  });

  it("have a share of their own once they have submitted, on the bank's pages too", async () => {
    const [{ sessionId, clientSecret, vault }] = (await openSessions(1)) as [Session];
    const id = decodeId("ps", sessionId)!;
    const submitted = await fetch(`${limited.publicOrigin}/payments.v1.CheckoutService/SubmitPayment`, {
      method: "POST",
      headers: { authorization: `Bearer ${clientSecret}`, "content-type": "application/json" },
      body: JSON.stringify({ sessionId, vaultToken: "tok_1" }),
    });
    expect(policyOf(submitted)).toEqual([200, '"checkout";q=300;w=3']);
    const read = await getCheckout({ sessionId, clientSecret, vault });
    expect(read.headers.get("ratelimit-policy")).toBe('"submitted";q=300;w=3');
    const token = returnTokenOf(edge.core.core, { sessionId: id, id: systemRuntime.uuid(), isProvided: false });
    for (const path of [`return/${token}`, `return/${token}/end`]) {
      const page = await fetch(`${limited.publicOrigin}/authentication/test/${path}`);
      expect(policyOf(page)).toEqual([200, '"submitted";q=300;w=3']);
    }
  });
});
