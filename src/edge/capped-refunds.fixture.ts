/**
 * Pairs of refunds by a capped key, of which only one fits, each of a different payment; half of them across a roll.
 */
import { expect } from "vitest";
import { createRestrictedKey, revokeKeyOf, rollKey } from "../accounts/restricted-keys.ts";
import { cards } from "../core/scenarios/core.fixture.ts";
import type { Tx } from "../platform/database.ts";
import { decodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import type { EdgeFixture } from "./edge.fixture.ts";

const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
// A payment of 49.00 is refunded by 0.60 each time.
const refundsOfPayment = 80;

export async function refundInPairs(edge: EdgeFixture, count: number): Promise<void> {
  const { merchantId } = edge.core.owner;
  const changing = <Result>(work: (tx: Tx) => Promise<Result>) => edge.core.core.database.transaction(work);
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    edge.call("POST", path, { body: JSON.stringify(body), headers });
  const pay = async () => {
    const order = { amountMinor: 4900, currency: "EUR", orderRef: systemRuntime.uuid() };
    const sessionId: string = (await post("/payment-sessions", order)).json.sessionId;
    await edge.core.submit({ id: decodeId("ps", sessionId)! }, cards.approved);
    return sessionId;
  };
  const refund = (sessionId: string, key: string) =>
    post(
      `/payment-sessions/${sessionId}/refunds`,
      { amountMinor: 60 },
      { "Idempotency-Key": systemRuntime.uuid(), authorization: `Bearer ${key}` },
    );
  const restrictions = { name: "Back office", rights: ["refunds.create"], expiresAt: null, refundCap: { EUR: 100 } };
  let sessions: readonly [string, string] | undefined;
  for (let pair = 0; pair < count; pair++) {
    if (pair % refundsOfPayment === 0) sessions = [await pay(), await pay()];
    const { keyId, secret } = await changing((tx) => createRestrictedKey(tx, maker, { merchantId, ...restrictions }));
    const key = secret.expose();
    const roll = () => changing((tx) => rollKey(tx, maker, { merchantId, keyId, oldKeySeconds: 3_600 }));
    const other = pair % 2 === 0 ? key : (await roll()).secret.expose();
    const made = await Promise.all([refund(sessions![0], key), refund(sessions![1], other)]);
    expect(made.map(({ status }) => status).toSorted()).toEqual([201, 403]);
    await changing((tx) => revokeKeyOf(tx, { merchantId, keyId, replacedOnly: false }));
  }
}
