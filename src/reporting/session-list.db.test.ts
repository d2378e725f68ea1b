import { describe, expect, it } from "vitest";
import { createSession } from "../core/create-session.ts";
import { startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { listSessions } from "./session-list.ts";

const fixture = await forFile(startCoreFixture);

const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };
type Wanted = Parameters<typeof listSessions>[1];
const list = (wanted: Omit<Wanted, "keys" | "now">, databases = [fixture.core.database]) =>
  listSessions(databases, { ...wanted, keys: fixture.core.pageTokenKey, now: systemRuntime.now() });

describe("listSessions()", () => {
  it("pages through a merchant's sessions, newest first, without repeating one", async () => {
    const owner = { ...fixture.owner, merchantId: systemRuntime.uuid() };
    const made: string[] = [];
    for (let count = 0; count < 5; count++) made.unshift((await createSession(fixture.core, owner, order)).session.id);
    const seen: string[] = [];
    let pageToken: string | undefined;
    do {
      const page = await list({
        merchantId: owner.merchantId,
        filters: {},
        pageSize: 2,
        pageToken,
      });
      seen.push(...page.sessions.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    expect(seen).toEqual(made);
  });

  it("refuses a page token of another merchant or other filters, and a forged one", async () => {
    const owner = { ...fixture.owner, merchantId: systemRuntime.uuid() };
    await createSession(fixture.core, owner, order);
    await createSession(fixture.core, owner, order);
    const { nextPageToken } = await list({
      merchantId: owner.merchantId,
      filters: {},
      pageSize: 1,
    });
    const attempts = [
      { merchantId: systemRuntime.uuid(), filters: {}, pageToken: nextPageToken },
      { merchantId: owner.merchantId, filters: { orderRef: "order-1" }, pageToken: nextPageToken },
      { merchantId: owner.merchantId, filters: {}, pageToken: `${nextPageToken}x` },
    ];
    for (const options of attempts) {
      await expect(list(options)).rejects.toMatchObject({ code: "invalid_parameter" });
    }
  });

  it("filters by order, status and time", async () => {
    const owner = { ...fixture.owner, merchantId: systemRuntime.uuid() };
    const { session } = await createSession(fixture.core, owner, { ...order, orderRef: "wanted" });
    await createSession(fixture.core, owner, order);
    const count = async (filters: object) => (await list({ merchantId: owner.merchantId, filters })).sessions.length;
    expect(await count({ orderRef: "wanted" })).toBe(1);
    expect(await count({ status: "CREATED" })).toBe(2);
    expect(await count({ status: "SUCCEEDED" })).toBe(0);
    expect(await count({ processing: true })).toBe(0);
    expect(await count({ createdBefore: session.createdAt })).toBe(0);
  });

  it("reads a bounded number of sessions in a call, and none that are newer than createdBefore", async () => {
    const owner = { ...fixture.owner, merchantId: systemRuntime.uuid() };
    const { session } = await createSession(fixture.core, owner, order);
    const text = `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at, created_at,
        status, phase, settled_at)
      SELECT (substr(h, 1, 8) || '-' || substr(h, 9) || '-7000-8000-000000000000')::uuid, $1, 100, 'EUR', 'newer', 1, at, at, 'EXPIRED', 'DONE', at
      FROM generate_series(1, 10000) n, LATERAL (SELECT $2::bigint + n AS ms), LATERAL (
        SELECT lpad(to_hex(ms), 12, '0') AS h, to_timestamp(ms / 1000.0) AS at)`;
    const tenMinutesOn = session.createdAt.getTime() + 10 * 60_000;
    await fixture.asOwner.query({ name: "guards_off", text: switchGuards("DISABLE") }, []);
    await fixture.asOwner.query({ name: "newer", text }, [owner.merchantId, tenMinutesOn]);
    await fixture.asOwner.query({ name: "guards_on", text: switchGuards("ENABLE") }, []);
    const wanted = { merchantId: owner.merchantId, filters: { status: "CREATED" } } as const;
    const first = await list(wanted);
    expect(first).toEqual({ sessions: [], nextPageToken: expect.any(String) });
    expect(await list({ ...wanted, pageToken: first.nextPageToken })).toMatchObject({ sessions: [{ id: session.id }] });
    const before = { createdBefore: new Date(session.createdAt.getTime() + 60_000) };
    const { sessions, nextPageToken } = await list({ merchantId: owner.merchantId, filters: before });
    expect([sessions.map(({ id }) => id), nextPageToken]).toEqual([[session.id], undefined]);
  });
});
