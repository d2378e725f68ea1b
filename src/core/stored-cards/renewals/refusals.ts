/**
 * The reasons why an agreement cannot be charged without its customer now, with the public errors and a session's
 * `retry`. PURE.
 */
import { renewalTriesMax } from "../../../limits.ts";
import { DomainError, type DomainErrorCode } from "../../../platform/errors.ts";
import { encodeId, type SessionId } from "../../../platform/ids.ts";

/** A reason of `app.renewal_refusal` (src/migrations/environment/renewal-guards.sql). */
export type RefusalReason = keyof typeof refusals;

/**
 * A reason why nothing is charged, the session that the reason names, and the earliest time of a try, if time helps.
 */
export type Refusal = {
  readonly reason: RefusalReason;
  readonly other: SessionId | null;
  /** In PostgreSQL's JSON format of a time. */
  readonly until: string | null;
};

type Said = {
  readonly code: DomainErrorCode;
  readonly because: string;
  /** The state of an agreement that cannot be charged. */
  readonly status?: string;
  /** True if the renewal can be paid only by the customer, such as by a link. */
  readonly customerNeeded?: boolean;
  readonly field?: string;
};

const notActive = "agreement_not_active";
const notAllowed = "retry_not_allowed";
const refusals = {
  paid: { code: "renewal_paid", because: "The renewal is paid." },
  in_progress: { code: "renewal_in_progress", because: "The renewal is being paid." },
  needs_card: {
    code: notActive,
    because: "The agreement needs another card.",
    status: "NEEDS_CARD",
    customerNeeded: true,
  },
  cancelled: { code: notActive, because: "The agreement was cancelled.", status: "CANCELLED" },
  ended: { code: notActive, because: "The agreement has ended.", status: "ENDED" },
  over: { code: notActive, because: "The agreement's last day or last instalment is over.", status: "ENDED" },
  amount: {
    code: "amount_exceeds_agreement",
    because: "The customer has agreed to a smaller amount, or to another currency.",
    field: "amountMinor",
  },
  link: { code: notAllowed, because: "The bank wants the customer to pay.", customerNeeded: true },
  tries: { code: notAllowed, because: `The renewal was tried ${renewalTriesMax} times.`, customerNeeded: true },
  stopped: { code: notAllowed, because: "The bank or the card network has stopped the card.", customerNeeded: true },
  waits: { code: notAllowed, because: "The bank or the card network asks to wait." },
  limit: { code: notAllowed, because: "The card was declined as often as its network allows." },
} as const satisfies Record<string, Said>;

/** Returns a reason in a sentence. */
export function refusalInWords(reason: RefusalReason): string {
  return refusals[reason].because;
}

/** Returns the public error. A renewal in progress may be requested again in a second, because its end is not known. */
export function refusalError({ reason, other, until }: Refusal): DomainError {
  const { code, because, status, field }: Said = refusals[reason];
  const sessionId = other === null ? undefined : encodeId("ps", other);
  const notBefore = until === null ? undefined : new Date(until).toISOString();
  const state = { ...(status && { status }), ...(sessionId && { sessionId }), ...(notBefore && { notBefore }) };
  const named = sessionId === undefined ? "" : ` Read ${sessionId}.`;
  const later = notBefore === undefined ? "" : ` It may be tried again from ${notBefore} on.`;
  return new DomainError(code, because + named + later, {
    ...(Object.keys(state).length > 0 && { state }),
    ...(field !== undefined && { field }),
    ...(reason === "in_progress" && { retryAfterMs: 1_000 }),
  });
}

/** The next possible step for an unpaid renewal. */
export type Retry = {
  readonly allowed: boolean;
  readonly notBefore?: Date;
  readonly triesLeft: number;
  readonly customerNeeded: boolean;
  readonly because: string;
};

/** Returns what can be done about a renewal that was tried so often, if this refuses it now. */
export function retryOf({ tries, refusal }: { readonly tries: number; readonly refusal: Refusal | null }): Retry {
  const triesLeft = Math.max(0, renewalTriesMax - tries);
  if (refusal === null) return { allowed: true, triesLeft, customerNeeded: false, because: mayBeTried };
  const { because, customerNeeded = false }: Said = refusals[refusal.reason];
  if (refusal.until === null) return { allowed: false, triesLeft, customerNeeded, because };
  return { allowed: true, notBefore: new Date(refusal.until), triesLeft, customerNeeded, because };
}

const mayBeTried = "The renewal may be tried again.";
