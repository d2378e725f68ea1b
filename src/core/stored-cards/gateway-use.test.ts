import { v7 } from "uuid";
import { expect, it } from "vitest";
import type { AttemptId, ConnectionId, MerchantId } from "../../platform/ids.ts";
import { gatewayUse, voidedUse } from "./gateway-use.ts";
import type { StoredPayment } from "./stored-rows.ts";

const core = { sealing: { current: "k1", keys: { k1: new Uint8Array(32).fill(7) } }, connectorOf: () => undefined };
const attempt = { connectionId: v7() as ConnectionId, gateway: "STRIPE" } as const;
const saving = {
  merchantId: v7() as MerchantId,
  customerRef: "customer-7",
  role: "SAVE",
  terms: null,
} as StoredPayment;

it("a hold whose answer was lost is voided as what it was made, also once the card is stored", () => {
  const asked = gatewayUse(core, { ...saving, saving: "REQUESTED" }, attempt);
  expect(asked).toMatchObject({ type: "save", purpose: "customer" });
  for (const ended of ["KEPT", "FAILED", "DROPPED"] as const)
    expect(gatewayUse(core, { ...saving, saving: ended }, attempt), ended).toEqual(asked);
  expect(gatewayUse(core, { ...saving, saving: "NOT_WANTED" }, attempt)).toBeUndefined();
});

it("a void erases what no agreement goes on from: of neither the winner, nor a payment that was held", () => {
  const id = v7() as AttemptId;
  const forgets = (session: Parameters<typeof voidedUse>[1]["session"], stored: Partial<StoredPayment> = {}) =>
    voidedUse(core, { session, stored: { ...saving, saving: "REQUESTED", ...stored } }, { ...attempt, id }).forgetsCard;
  const [other, none] = [v7() as AttemptId, null];
  expect(forgets({ winnerAttemptId: other, heldAt: null })).toBe(true);
  expect(forgets({ winnerAttemptId: none, heldAt: null })).toBe(true);
  expect(forgets({ winnerAttemptId: id, heldAt: null })).toBeUndefined();
  expect(forgets({ winnerAttemptId: none, heldAt: new Date() })).toBeUndefined();
  expect(forgets({ winnerAttemptId: other, heldAt: null }, { saving: "NOT_WANTED" })).toBeUndefined();
});
