/** The promises of docs/capture-refund-safety.md as a program checks them, after every step of a run. PURE. */
import type { Observed } from "./observed.ts";
import type { RefundMoment } from "./refund-invariants.ts";

/** Our rows and the gateways' records, with the orders to capture. */
export type HoldMoment = RefundMoment & {
  /** The amounts whose capture a merchant or a person asked for; of a payment that is captured later. */
  readonly askedMinor: ReadonlySet<number>;
};

/** Returns the first promise about a payment that is captured later which is broken now. */
export function findHoldViolation(moment: HoldMoment, before: Observed | undefined): string | undefined {
  const { session, attempts, events } = moment.observed;
  if (!session.manual_capture) return undefined;
  const isHeld = session.held_at !== null;
  const emitted = events.filter(({ type }) => type === "payment_session.held").length;
  // A capture that a restore finds has no event of its hold.
  if (emitted !== Number(isHeld) && !moment.isRestored)
    return `${emitted} events of a hold, and it is ${isHeld ? "held" : "not held"}`;
  if (isHeld && session.vault_token !== null) return "the card is kept with a hold";
  if (before?.session.held_at && attempts.length > before.attempts.length && !moment.isRestored)
    return "an attempt was made after the hold";
  const ordered = attempts.find(({ capture_ordered_at }) => capture_ordered_at !== null);
  if ((ordered === undefined) !== (session.capture_asked_at === null))
    return "an order without its time, or the reverse";
  const orderedMinor = ordered?.captured_amount_minor ?? undefined;
  if (orderedMinor !== undefined && !moment.askedMinor.has(orderedMinor) && !moment.isRestored)
    return `a capture of ${orderedMinor} is recorded, which the merchant did not order`;
  const known = before?.attempts.find(({ capture_ordered_at }) => capture_ordered_at !== null);
  const byHand = moment.authorizations.find(({ isByHand }) => isByHand)?.capturedMinor;
  if (known && known.captured_amount_minor !== orderedMinor && orderedMinor !== byHand)
    return "the amount of an ordered capture has changed";
  return findWrongMoney(moment, orderedMinor);
}

function findWrongMoney(
  { observed, authorizations, isRestored }: HoldMoment,
  orderedMinor: number | undefined,
): string | undefined {
  // A restore loses orders whose captures are found at the gateways later.
  if (isRestored) return undefined;
  const taken = authorizations.filter(({ captures, isByHand }) => captures > 0 && !isByHand);
  for (const { capturedMinor, amountMinor } of taken) {
    const minor = capturedMinor ?? amountMinor;
    if (orderedMinor === undefined) return `${minor} was captured without an order`;
    if (minor !== orderedMinor) return `${minor} was captured, and ${orderedMinor} was ordered`;
  }
  const { status } = observed.session;
  return status !== "SUCCEEDED" && status !== "CREATED" && taken.length > 0
    ? `${status}, and ${taken.length} captures were kept`
    : undefined;
}
