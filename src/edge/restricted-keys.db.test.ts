/** Restricted keys over REST: their rights, their end, and their daily cap of refunds. */
import { describe, expect, it } from "vitest";
import { listKeys, type Restrictions } from "../accounts/api-keys.ts";
import { createRestrictedKey, revokeKeyOf, rollKey } from "../accounts/restricted-keys.ts";
import { cards } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { Tx } from "../platform/database.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { refundInPairs } from "./capped-refunds.fixture.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
await edge.core.setRule(["TIMEOUT"]);

const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
const { merchantId } = edge.core.owner;
const changing = <Result>(work: (tx: Tx) => Promise<Result>) => edge.core.core.database.transaction(work);

async function keyWith(rights: readonly string[], more: Partial<Restrictions> = {}) {
  const restrictions = { name: "Back office", rights, expiresAt: null, refundCap: null, ...more };
  const made = await changing((tx) => createRestrictedKey(tx, maker, { merchantId, ...restrictions }));
  return { keyId: made.keyId, bearer: { authorization: `Bearer ${made.secret.expose()}` } };
}
const revoke = (keyId: string) => changing((tx) => revokeKeyOf(tx, { merchantId, keyId, replacedOnly: false }));

const order = (fields: object = {}) =>
  JSON.stringify({ amountMinor: 4900, currency: "EUR", orderRef: systemRuntime.uuid(), ...fields });
const create = async (fields?: object) =>
  (await edge.call("POST", "/payment-sessions", { body: order(fields) })).json.sessionId as string;
async function pay(fields?: object) {
  const sessionId = await create(fields);
  await edge.core.submit({ id: decodeId("ps", sessionId)! }, cards.approved);
  return sessionId;
}
const refund = (sessionId: string, bearer: object, amountMinor: number, key: string = systemRuntime.uuid()) =>
  edge.call("POST", `/payment-sessions/${sessionId}/refunds`, {
    body: JSON.stringify({ amountMinor }),
    headers: { "Idempotency-Key": key, ...bearer },
  });

describe("a restricted key", () => {
  it("calls what its rights allow, and learns which right it lacks before its body is read", async () => {
    const { keyId, bearer } = await keyWith(["sessions.read"]);
    const sessionId = await create();
    expect((await edge.call("GET", `/payment-sessions/${sessionId}`, { headers: bearer })).status).toBe(200);
    const refused = await edge.call("POST", "/payment-sessions", { body: "not json", headers: bearer });
    expect(refused.json).toMatchObject({ status: 403, code: "right_not_granted" });
    expect(refused.json.detail).toContain("sessions.create");
    const ledger = await edge.call("GET", "/ledger?day=2026-01-01", { headers: bearer });
    expect([ledger.status, ledger.json.detail]).toEqual([403, expect.stringContaining("ledger.read")]);
    await revoke(keyId);
    const revoked = await edge.call("GET", `/payment-sessions/${sessionId}`, { headers: bearer });
    expect(revoked.json.code).toBe("invalid_key");
  });

  it("and a rolled one show when each was last used, to within a minute, and that of one that is refused is not noted", async () => {
    const { keyId, bearer } = await keyWith(["sessions.read"]);
    const sessionId = await create();
    const read = (headers: Record<string, string>) => edge.call("GET", `/payment-sessions/${sessionId}`, { headers });
    const usedAt = async (isRolled = false) => {
      const keys = await listKeys(edge.core.core.database, merchantId);
      return keys.find((one) => one.keyId === keyId && (one.endsAt !== null) === isRolled)!.lastUsedAt;
    };
    expect((await edge.call("POST", "/payment-sessions", { body: order(), headers: bearer })).status).toBe(403);
    expect(await usedAt()).toBeNull();
    expect((await read(bearer)).status).toBe(200);
    await expect.poll(() => usedAt()).toBeInstanceOf(Date);
    const first = await usedAt();
    await read(bearer);
    expect(await usedAt()).toEqual(first);
    await changing((tx) => rollKey(tx, maker, { merchantId, keyId, oldKeySeconds: 3_600 }));
    expect([await usedAt(), await usedAt(true)]).toEqual([null, first]);
  });

  it("without payments.capture cancels a session that was not submitted, and no held payment", async () => {
    const { bearer } = await keyWith(["sessions.create"]);
    const cancel = (sessionId: string) =>
      edge.call("POST", `/payment-sessions/${sessionId}/cancel`, { headers: bearer });
    const open = await create();
    for (const _ of [1, 2]) {
      const { status, json } = await cancel(open);
      expect([status, json.status]).toEqual([200, "EXPIRED"]);
    }
    const held = await pay({ capture: "manual" });
    const { status, json } = await cancel(held);
    expect([status, json.code, json.detail]).toEqual([
      403,
      "right_not_granted",
      expect.stringContaining("payments.capture"),
    ]);
    expect((await edge.call("GET", `/payment-sessions/${held}`)).json.held).toBeDefined();
    const capturing = await keyWith(["payments.capture"]);
    const ended = await edge.call("POST", `/payment-sessions/${held}/cancel`, { headers: capturing.bearer });
    expect(ended.json).toMatchObject({ status: "DECLINED" });
    expect((await cancel(await pay())).json.code).toBe("session_ended");
  });
});

describe("a restricted key without agreements.charge", () => {
  const skipping = { customerRef: "customer-1", storedCardSecurityCode: "skip" };
  const agreementId = encodeId("agr", systemRuntime.uuid());
  const post = async (path: string, body: object, rights: string[]) =>
    (await edge.call("POST", path, { body: JSON.stringify(body), headers: (await keyWith(rights)).bearer })).json;

  it.each([
    [
      "creates no session that pays with a stored card without its code",
      "/payment-sessions",
      JSON.parse(order(skipping)),
      "storedCardSecurityCode",
      undefined,
    ],
    ["replaces no card of an agreement", "/setup-sessions", { agreementId }, "agreementId", "not_found"],
  ])("%s", async (_, path, body, param, otherwise) => {
    const refused = await post(path, body, ["sessions.create"]);
    expect(refused).toMatchObject({ status: 403, code: "right_not_granted", param });
    expect(refused.detail).toContain("agreements.charge");
    expect((await post(path, body, ["sessions.create", "agreements.charge"])).code).toBe(otherwise);
  });

  it("creates a session whose customer types the code of a stored card", async () => {
    const asking = JSON.parse(order({ ...skipping, storedCardSecurityCode: "required" }));
    expect((await post("/payment-sessions", asking, ["sessions.create"])).status).toBe("CREATED");
  });
});

describe("the refund cap of a key", () => {
  it("allows its amount a day, and repeats; other currencies refund nothing", async () => {
    const { bearer } = await keyWith(["refunds.create"], { refundCap: { EUR: 1_000 } });
    const sessionId = await pay();
    const first = await refund(sessionId, bearer, 700, "return-1");
    expect(first.status).toBe(201);
    const over = await refund(sessionId, bearer, 301);
    expect(over.json).toMatchObject({ status: 403, code: "refund_cap_exceeded", param: "amountMinor" });
    expect(over.json.detail).toContain("3.00");
    expect((await refund(sessionId, bearer, 300)).status).toBe(201);
    expect((await refund(sessionId, bearer, 1)).status).toBe(403);
    expect((await refund(sessionId, bearer, 700, "return-1")).status).toBe(201);
    expect((await refund(sessionId, {}, 500)).status).toBe(201);
    const { refunds } = (await edge.call("GET", `/payment-sessions/${sessionId}`)).json;
    expect(refunds.map(({ amountMinor }: { amountMinor: number }) => amountMinor)).toEqual([700, 300, 500]);
    const dollars = await keyWith(["refunds.create"], { refundCap: { USD: 1_000 } });
    expect((await refund(sessionId, dollars.bearer, 1)).json.code).toBe("refund_cap_exceeded");
  });

  it("lets one of two refunds through that fit only alone, also across a roll", () => refundInPairs(edge, 24));

  // A renewal takes the same lock, without waiting.
  it("leaves the merchant's configuration to renewals", async () => {
    const { bearer } = await keyWith(["refunds.create"], { refundCap: { EUR: 100 } });
    const sessionId = await pay();
    await changing(async (tx) => {
      await tx.query(
        { name: "share_settings", text: "SELECT FROM merchant_settings WHERE merchant_id = $1 FOR SHARE" },
        [merchantId],
      );
      expect((await refund(sessionId, bearer, 60)).status).toBe(201);
    });
  });
});
