/** Checks payments that are captured later, and money that a person captured at a gateway. PURE. */
import type { AttemptRecord, EventRecord, OrderRecord, Records, SessionRecord } from "./records.ts";

export const holdViolationKinds = {
  captured_unordered: "a payment that is captured later was captured without its merchant's order of that amount",
  capture_lost: "the order of a capture was answered, and the payment has another end",
  cancel_lost: "a cancellation was answered, and the payment has another end",
  hold_lost: "a customer saw a hold that is not recorded",
  hold_event: "a payment has an event of a hold and no hold, or the reverse",
  by_hand_unnoticed: "a person has captured money at a gateway, and the work queue has no row about it",
} as const;

type HoldViolationKind = keyof typeof holdViolationKinds;
type Found = { readonly kind: HoldViolationKind; readonly detail: string };

export type Money = { readonly attempt: AttemptRecord; readonly authorization: Records["authorizations"][number] };

export type HoldCase = {
  readonly session: SessionRecord;
  readonly attempts: readonly AttemptRecord[];
  readonly money: readonly Money[];
  readonly events: readonly EventRecord[];
  readonly order: OrderRecord | undefined;
  readonly workItems: Records["workItems"];
};

/** Reports whether money was captured by a person (test card 4000000000007262) and not by our order of this amount. */
export function isByHand({ attempt, authorization }: Money): boolean {
  const { hold, status, capturedValue } = authorization;
  return hold === "captured_by_hand" && status === "captured" && capturedValue !== attempt.orderedValue;
}

// A capture or a void that the gateway can never confirm is as good a reason to look as the money itself.
const namesMoney = new Set(["RECORD_MISMATCH", "CAPTURE_UNANSWERED", "VOID_UNANSWERED"]);

/**
 * Reports whether the hold ended by itself after its gateway had accepted the capture, which it then reported as failed
 * (test card 4000000000007239): a person sees that.
 */
export function hasEndedMeanwhile({ money, workItems }: Pick<HoldCase, "money" | "workItems">): boolean {
  const hasEnded = money.some(({ authorization: { hold, status } }) => hold === "ends_early" && status === "voided");
  return hasEnded && workItems.some(({ kind }) => kind === "CAPTURE_FAILED");
}

/**
 * Reports whether the session is left to a person: another person has captured its money at a gateway, which no order here
 * prevents, or its hold ended before an accepted capture; and the work queue says so.
 */
export function isLeftToPerson(one: Pick<HoldCase, "money" | "workItems">): boolean {
  if (hasEndedMeanwhile(one)) return true;
  const { money, workItems } = one;
  const mayBeByHand = money.some(
    ({ authorization: { hold, status } }) => hold === "captured_by_hand" && status === "captured",
  );
  // Once the records agree on what the person captured, the row is resolved; it stays open until a person closes it.
  return mayBeByHand && workItems.some(({ kind }) => namesMoney.has(kind));
}

export function findHoldViolations(one: HoldCase): Found[] {
  const { session, attempts, money, events, order } = one;
  const isHeld = session.heldAt !== undefined;
  const emitted = events.filter(({ type }) => type === "payment_session.held").length;
  const orderedMinor = session.isManual
    ? attempts.find((each) => each.orderedMinor !== undefined)?.orderedMinor
    : undefined;
  const isAsked = orderedMinor === undefined || order?.captures.includes(orderedMinor) === true;
  const byHand = money.filter(isByHand);
  const isAdopted = !isAsked && money.some(({ authorization }) => authorization.hold === "captured_by_hand");
  const end = `${session.status} ${session.declineCode ?? ""}, ${orderedMinor ?? "nothing"} ordered`;
  const isKept = orderedMinor === order?.captured && /^(SUCCEEDED|DEGRADED)$/.test(session.status);
  return [
    ...found("captured_unordered", !isAsked && !isAdopted, `${end}; ${order?.captures.join(", ") || "nothing"} asked`),
    ...found("capture_lost", order?.captured !== undefined && !isKept, `${order?.captured} answered; ${end}`),
    ...found("cancel_lost", order?.cancelled === true && !isCancelled(session), end),
    ...found("hold_lost", order?.heldVia !== undefined && !isHeld, `${order?.heldVia}; ${end}`),
    ...found("hold_event", emitted !== Number(isHeld), `${emitted} events; ${isHeld ? "held" : "never held"}`),
    ...found("by_hand_unnoticed", (byHand.length > 0 || isAdopted) && !isLeftToPerson(one), end),
  ];
}

/** True if a cancellation ended the session: as a hold, or before it was submitted. */
function isCancelled({ declineCode, expiredBecause }: SessionRecord): boolean {
  return declineCode === "capture_cancelled" || expiredBecause === "CANCELLED";
}

function found(kind: HoldViolationKind, isWrong: boolean, detail: string): Found[] {
  return isWrong ? [{ kind, detail }] : [];
}
