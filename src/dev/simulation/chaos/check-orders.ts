/**
 * Checks the orders of a run: the answers that its shop and customers got, and that one session of each was paid. PURE.
 */
import { isByHand, type Money } from "./check-holds.ts";
import type { OrderRecord, SessionRecord } from "./records.ts";

export const orderViolationKinds = {
  key_made_two: "one Idempotency-Key made two sessions",
  created_lost: "a session whose creation was answered is missing",
  submitted_lost: "a submission that was answered is missing",
  other_outcome: "a customer saw another outcome",
  order_paid_twice:
    "two sessions of one order were captured, and neither was refunded whole before the other one succeeded",
} as const;

type OrderViolationKind = keyof typeof orderViolationKinds;
type Found = { readonly kind: OrderViolationKind; readonly sessionId: string; readonly detail: string };

export type Paid = { readonly session: SessionRecord; readonly money: readonly Money[] };

/** Returns every disagreement about the answers to a creation key and its session's submissions. */
export function findOrderViolations(orders: readonly OrderRecord[], cases: readonly Paid[]): Found[] {
  const byKey = Map.groupBy(
    cases.map(({ session }) => session),
    ({ key }) => key,
  );
  const answered = orders.flatMap(({ key, created, submitted, heard }) => {
    const stored = byKey.get(key) ?? [];
    const [session] = stored;
    const ids = new Set([...created, ...stored.map(({ sessionId }) => sessionId)]);
    const missing = created.filter((id) => !stored.some(({ sessionId }) => sessionId === id));
    const otherwise = heard.filter((status) => status !== session?.status);
    return [
      ...found("key_made_two", ids.size > 1, [...ids].join(", ")),
      ...found("created_lost", missing.length > 0, missing.join(", ")),
      ...found("submitted_lost", submitted && !session?.submittedAt, `order ${key}`),
      ...found("other_outcome", otherwise.length > 0, `${otherwise.join(", ")}; ${session?.status}`),
    ].map((one) => ({ ...one, sessionId: session?.sessionId ?? created[0] ?? "" }));
  });
  const paid = cases.filter(({ session, money }) => !session.allowsRepeat && money.some(isTaken));
  const repeated = [...Map.groupBy(paid, ({ session }) => session.orderRef).values()].flatMap(findPaidTwice);
  return [...answered, ...repeated];
}

/** An order is free again once a gateway has taken on refunds of the whole captured amount. */
function findPaidTwice(paid: readonly Paid[]): Found[] {
  return paid.flatMap((one, index) =>
    paid.slice(index + 1).flatMap((other) => {
      const isFree = isGivenBack(one, other.session) || isGivenBack(other, one.session);
      const { sessionId } = one.session;
      const detail = `${one.session.orderRef}: ${sessionId} and ${other.session.sessionId}`;
      return found("order_paid_twice", !isFree, detail).map((violation) => ({ ...violation, sessionId }));
    }),
  );
}

/** Reports whether money was captured by our order. */
export function isTaken(money: Money): boolean {
  return money.authorization.status === "captured" && !isByHand(money);
}

function isGivenBack({ money }: Paid, { heldAt, settledAt }: SessionRecord): boolean {
  const before = heldAt ?? settledAt ?? "";
  return money.filter(isTaken).every(({ authorization: { capturedValue, refunds } }) => {
    const given = refunds.filter(({ openedAt, status }) => openedAt < before && status !== "failed");
    return given.reduce((sum, { value }) => sum + value, 0) >= capturedValue;
  });
}

function found(kind: OrderViolationKind, isWrong: boolean, detail: string): Pick<Found, "kind" | "detail">[] {
  return isWrong ? [{ kind, detail }] : [];
}
