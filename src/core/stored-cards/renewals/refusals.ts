/** Why an agreement cannot be charged without its customer now, in the words of the public errors and of a session's `retry`. PURE. */
import { renewalTriesMax } from "../../../limits.ts";
import { DomainError, type DomainErrorCode } from "../../../platform/errors.ts";
import { encodeId, type SessionId } from "../../../platform/ids.ts";

/** A reason of `app.renewal_refusal` (src/migrations/environment/renewal-guards.sql). */
export type RefusalReason = keyof typeof refusals;

/** Why nothing is charged, the session that the reason names, and from when a try is allowed, where time helps. */
export type Refusal = { readonly reason: RefusalReason; readonly other: SessionId | null; readonly until: Date | null };

type Said = {
  readonly code: DomainErrorCode;
  readonly because: string;
  /** Only the customer can pay it, such as by a link. */
  readonly customerNeeded?: boolean;
  readonly field?: string;
};

const refusals = {
  paid: { code: "renewal_paid", because: "The renewal is paid." },
  in_progress: { code: "renewal_in_progress", because: "The renewal is being paid." },
  needs_card: { code: "agreement_not_active", because: "The agreement needs another card.", customerNeeded: true },
  cancelled: { code: "agreement_not_active", because: "The agreement was cancelled." },
  ended: { code: "agreement_not_active", because: "The agreement has ended." },
  over: { code: "agreement_not_active", because: "The last day or the last instalment of the agreement is over." },
  amount: {
    code: "amount_exceeds_agreement",
    because: "The customer has agreed to another currency or to a smaller amount.",
    field: "amountMinor",
  },
  link: { code: "retry_not_allowed", because: "The bank wants the customer to pay.", customerNeeded: true },
  tries: {
    code: "retry_not_allowed",
    because: `The renewal was tried ${renewalTriesMax} times.`,
    customerNeeded: true,
  },
  stopped: {
    code: "retry_not_allowed",
    because: "The bank or the card network has stopped the card.",
    customerNeeded: true,
  },
  waits: { code: "retry_not_allowed", because: "The bank or the card network asks to wait." },
  limit: { code: "retry_not_allowed", because: "The card was declined as often as its network allows." },
} as const satisfies Record<string, Said>;

/** Returns a reason in a sentence. */
export function refusalInWords(reason: RefusalReason): string {
  return refusals[reason].because;
}

/** Returns the public error. A renewal in progress is asked about again in a second; its session is read in the meantime. */
export function refusalError({ reason, other, until }: Refusal): DomainError {
  const { code, because, field }: Said = refusals[reason];
  const named = other === null ? "" : ` Read ${encodeId("ps", other)}.`;
  const later = until === null ? "" : ` It may be tried again from ${until.toISOString()} on.`;
  const state = {
    ...(other !== null && { sessionId: encodeId("ps", other) }),
    ...(until !== null && { notBefore: until.toISOString() }),
  };
  return new DomainError(code, because + named + later, {
    ...(Object.keys(state).length > 0 && { state }),
    ...(field !== undefined && { field }),
    ...(reason === "in_progress" && { retryAfterMs: 1_000 }),
  });
}

/** What can be done about an unpaid renewal. */
export type Retry = {
  readonly allowed: boolean;
  readonly notBefore?: Date;
  readonly triesLeft: number;
  readonly customerNeeded: boolean;
  readonly because: string;
};

/** Returns what can be done about a renewal that was tried so often, if this refuses it now. */
export function retryOf(tries: number, refusal: Refusal | undefined): Retry {
  const triesLeft = Math.max(0, renewalTriesMax - tries);
  if (refusal === undefined)
    return { allowed: true, triesLeft, customerNeeded: false, because: "The renewal may be tried again." };
  const { because, customerNeeded = false }: Said = refusals[refusal.reason];
  const { until } = refusal;
  return { allowed: until !== null, ...(until !== null && { notBefore: until }), triesLeft, customerNeeded, because };
}
