/** Reports SANDBOX_B's changes that no request made: by hand, or by the acquirer itself. */
import { unreachable } from "../platform/errors.ts";
import { newPspReference } from "./b-notifications.ts";
import type { SandboxBParts } from "./b-parts.ts";
import { reportRefund } from "./b-refunds.ts";
import { disputeFacts } from "./disputes.ts";
import type { Authorization, UnaskedChange } from "./ledger.ts";

export function reportUnasked(
  parts: SandboxBParts,
  authorization: Authorization,
  change: UnaskedChange,
): Promise<void> {
  const report = (eventCode: "CAPTURE" | "CANCELLATION" | "EXPIRE", value = authorization.value) =>
    parts.notifications.send(parts.accounts.find(authorization.account), {
      eventCode,
      success: true,
      pspReference: newPspReference(),
      merchantReference: authorization.reference,
      authorization,
      value,
    });
  switch (change.type) {
    case "captured":
      return report("CAPTURE", authorization.capturedValue);
    case "voided":
      return report("CANCELLATION");
    case "expired":
      return report("EXPIRE");
    case "refunded":
      return reportRefund(parts, authorization, "REFUND", change.refund);
    case "refundFailed":
      return reportRefund(parts, authorization, "REFUND_FAILED", change.refund);
    case "disputed":
      return parts.notifications.send(parts.accounts.find(authorization.account), {
        ...disputeContent(change),
        success: true,
        merchantReference: authorization.reference,
        authorization,
        value: authorization.capturedValue,
      });
    default:
      return unreachable(change);
  }
}

/** Returns what a report of a dispute says, in Adyen's form. */
export function disputeContent({ report, reference, disputed }: Extract<UnaskedChange, { type: "disputed" }>) {
  return { eventCode: report, pspReference: reference, facts: disputeFacts(report, disputed) };
}
