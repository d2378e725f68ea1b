/** Checks the renewals of a run: one capture each, however often it was requested. PURE. */
import { isTaken, type Paid } from "./check-orders.ts";

export const renewalViolationKinds = {
  renewal_paid_twice: "two sessions of one renewal were captured",
} as const;

type Found = { readonly kind: keyof typeof renewalViolationKinds; readonly sessionId: string; readonly detail: string };

export function findRenewalViolations(cases: readonly Paid[]): Found[] {
  const paid = cases.filter(({ session, money }) => session.renewal !== undefined && money.some(isTaken));
  return [...Map.groupBy(paid, ({ session }) => session.renewal!)].flatMap(([renewal, [one, ...others]]) =>
    others.map(({ session }) => ({
      kind: "renewal_paid_twice" as const,
      sessionId: session.sessionId,
      detail: `${renewal}: also ${one!.session.sessionId}`,
    })),
  );
}
