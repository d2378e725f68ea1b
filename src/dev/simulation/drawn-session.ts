/** The payment session of a run, and its owner, as the schedule has drawn them. */
import type { NewSession, SessionOwner } from "../../core/create-session.ts";
import { price, type Schedule } from "./schedule.ts";

export function ownerOf({ sessionLifetimeMs }: Schedule, merchantId: string): SessionOwner {
  const settings = { sessionLifetimeMs, checkoutOrigins: [], statementDescriptor: null };
  return { merchantId, publishableKey: "switchyard_test_pk_1", ...settings };
}

export function newSessionOf({ later, rival }: Schedule, seed: number): NewSession {
  const orderRef = `order of seed ${seed}`;
  return { ...price, orderRef, ...(later && { capture: "manual" }), allowRepeatedOrder: rival?.allowed === "own" };
}
