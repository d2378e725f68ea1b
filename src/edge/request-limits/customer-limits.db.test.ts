import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { returnTokenOf } from "../../core/customer-actions.ts";
import { type LimitedEdge, startLimitedEdge } from "../../dev/testing/edge/limited-edge.ts";
import { requestLimitBounds } from "../../limits.ts";
import { decodeId, encodeId } from "../../platform/ids.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { type EdgeFixture, startEdgeFixture } from "../edge.fixture.ts";

const burstOf = { session: 20, address: 200 };

type Session = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly vault: { readonly publishableKey: string };
};

// More than one address may use, so that the rest of it can be measured, and less than one address requests.
const limit = { perSecond: requestLimitBounds.perSecond.default, burst: 1.5 * burstOf.address };

let edge: EdgeFixture;
let limited: LimitedEdge;
beforeAll(async () => {
  edge = await startEdgeFixture();
});
beforeEach(async () => {
  // No time passes: however slowly the calls come, no session's and no address's share refills.
  limited = await startLimitedEdge(edge, limit, { nowMs: () => 0 });
});
afterEach(async () => {
  await limited.close();
  expect(edge.bugs).toEqual([]);
});
afterAll(() => edge.close());

/** Creates sessions of a merchant that has used none of its limits. */
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

/** Sends the widget's first call. */
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

async function statusesOf(count: number, call: () => Promise<Response>): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: count }, call));
  return answers.map(({ status }) => status);
}

/** Counts the answers by status. */
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
