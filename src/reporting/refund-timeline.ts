/** A refund in words: its steps in the timeline of its payment, and the doubt about it. PURE. */
import type { Refund } from "../core/rows/entities.ts";
import { unreachable } from "../platform/errors.ts";
import { amountInWords } from "../platform/money.ts";

/** A step of the timeline, or one that has not happened. */
type Moment = {
  readonly at: Date | null | undefined;
  readonly actor: string;
  readonly step: string;
  readonly why?: string | undefined;
  readonly tone?: "GOOD" | "WARN" | "BAD" | undefined;
};

const us = "Switchyard";

// The ends that this service or a person decided, not the gateway.
const ownCodes = new Set([
  ...["capture_failed", "capture_unconfirmed", "amount_exceeds_refundable", "payment_disputed"],
  ...["idempotency_key_reused", "never_made"],
]);

export function refundSteps(refund: Refund): Moment[] {
  const { gateway, sends, firstSentAt, pendingEventAt, clearedAt, decidedBy, decisionReason } = refund;
  const amount = amountInWords(refund.amountMinor, refund.currency);
  return [
    requestStep(refund, amount),
    {
      at: clearedAt,
      actor: decidedBy ?? us,
      step: `Let the refund of ${amount} be sent`,
      why: decisionReason ?? undefined,
    },
    {
      at: firstSentAt,
      actor: us,
      step: `Sent the refund of ${amount} to ${gateway}`,
      why: sends > 1 ? `Sent ${sends} times, because answers were missing.` : undefined,
    },
    { at: pendingEventAt, actor: us, step: `Notified the merchant that the refund of ${amount} takes longer` },
    ...endSteps(refund, amount),
  ];
}

function requestStep(refund: Refund, amount: string): Moment {
  const { createdAt: at, gateway, origin, madeBy, reason, gatewayReference } = refund;
  if (origin === "GATEWAY") {
    const step = `Found the refund ${gatewayReference} of ${amount}`;
    return { at, actor: us, step, why: `It was made at ${gateway}, not here.`, tone: "WARN" };
  }
  const why = reason ? `Reason: ${reason.replaceAll("_", " ")}.` : undefined;
  return { at, actor: madeBy ?? "Merchant", step: `Requested a refund of ${amount}`, why };
}

function endSteps(refund: Refund, amount: string): Moment[] {
  const { status, gateway: actor, succeededAt, completedAt, decision, decidedBy, decisionReason } = refund;
  const reference = refund.gatewayReference ? `, reference ${refund.gatewayReference}` : "";
  const made: Moment = { at: succeededAt, actor, step: `Refunded ${amount}${reference}`, tone: "GOOD" };
  const decided = decision !== null && { actor: decidedBy ?? us, why: decisionReason ?? undefined };
  switch (status) {
    case "REQUESTED":
    case "PENDING":
      return [];
    case "SUCCEEDED":
      return [decided ? { ...made, ...decided, step: `Recorded the refund of ${amount} as made${reference}` } : made];
    case "FAILED": {
      if (decided) {
        const step = `Recorded that the refund of ${amount} was never made`;
        return [{ at: completedAt, step, ...decided, tone: "BAD" }];
      }
      const code = refund.failureCode ?? "";
      const verb = succeededAt ? "Returned" : "Refused";
      const isOurs = ownCodes.has(code);
      const step = isOurs ? `Ended the refund of ${amount}: ${code}` : `${verb} the refund of ${amount}: ${code}`;
      return [made, { at: completedAt, actor: isOurs ? us : actor, step, tone: "BAD" }];
    }
    default:
      return unreachable(status);
  }
}

/** Returns the doubt about a refund, in a sentence; empty if everything is known. `alarm` needs a person. */
export function doubtOf(refund: Refund, alarm?: string): string {
  const { status, gateway, sends, decision } = refund;
  switch (status) {
    case "SUCCEEDED":
    case "FAILED":
      return "";
    case "REQUESTED":
    case "PENDING":
      if (decision === "FAILED" && status === "REQUESTED" && sends > 0)
        return `A person has recorded its end. It takes effect an hour after the last request at the latest: ${gateway} may still get that one.`;
      if (decision !== null) return "A person has recorded its end. It takes effect within seconds.";
      if (alarm !== undefined) return alarm;
      if (status === "PENDING")
        return `${gateway} has accepted the refund and has not reported its end. Until then it counts as refunded.`;
      if (sends === 0) return `Nothing was sent to ${gateway} yet.`;
      return `${gateway} has not answered, so it may have made the refund. Until that is known, it counts as refunded, and only the same request is repeated.`;
    default:
      return unreachable(status);
  }
}
