/** Reads Adyen's notifications about disputes. SANDBOX_B reports like it. */
import type { DisputeEvent, DisputeNotice } from "../dispute-notice.ts";
import type { Json } from "./judge-decline.ts";
import type { SignedFields } from "./notification-signature.ts";

/**
 * The meaning of each event code, which is signed: the OpenAPI file of Adyen's webhooks (2026), and
 * https://docs.adyen.com/risk-management/disputes-api/dispute-notifications (2026). The text about PREARBITRATION_ACCEPTED and
 * _DECLINED does not say by whom, so they are only shown.
 */
const eventOf: Readonly<Record<string, DisputeEvent>> = {
  NOTIFICATION_OF_FRAUD: "fraudReported",
  REQUEST_FOR_INFORMATION: "inquiryOpened",
  NOTIFICATION_OF_CHARGEBACK: "chargebackOpened",
  CHARGEBACK: "charged",
  INFORMATION_SUPPLIED: "answered",
  DISPUTE_DEFENSE_PERIOD_ENDED: "answerTimeOver",
  ISSUER_RESPONSE_TIMEFRAME_EXPIRED: "issuerSilent",
  CHARGEBACK_REVERSED: "returned",
  SECOND_CHARGEBACK: "chargedAgain",
  PREARBITRATION_OPEN: "preArbitrationOpened",
  PREARBITRATION_WON: "preArbitrationWon",
  PREARBITRATION_ISSUER_WITHDRAWN: "preArbitrationWon",
  PREARBITRATION_LOST: "preArbitrationLost",
  PREARBITRATION_ACCEPTED: "remark",
  PREARBITRATION_DECLINED: "remark",
  ISSUER_COMMENTS: "remark",
};

const shownCharactersMax = 40;

/** Returns what an item says about a dispute; undefined for one about anything else. Only the event is signed. */
export function disputeNoticeOf({ eventCode, success }: SignedFields, additionalData: Json): DisputeNotice | undefined {
  const event = Object.hasOwn(eventOf, eventCode) && success === "true" ? eventOf[eventCode] : undefined;
  if (event === undefined) return undefined;
  const first = (...names: string[]) => {
    // The sample of a reason code begins with a blank.
    const texts = names.map((name) => additionalData[name]).filter((value) => typeof value === "string");
    return texts
      .map((text) => text.trim())
      .find((text) => /^[ -~]+$/.test(text))
      ?.slice(0, shownCharactersMax);
  };
  const deadline = deadlineIn(first("defensePeriodEndsAt"));
  const reasonCode = first("chargebackReasonCode", "rfiReasonCode", "nofReasonCode");
  const network = first("chargebackSchemeCode", "rfiSchemeCode", "nofSchemeCode");
  return {
    event,
    ...(reasonCode !== undefined && { reasonCode }),
    ...(network !== undefined && { network }),
    ...(deadline && { respondBy: deadline.toISOString() }),
  };
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const deadlineAwayMaxMs = 3 * 366 * 24 * 60 * 60_000;

// It is not signed: one that no deadline can be is left out, so that the signed event counts.
function deadlineIn(text = ""): Date | undefined {
  const date = new Date(rfc3339.test(text) ? text : "");
  return Math.abs(date.getTime() - Date.now()) <= deadlineAwayMaxMs ? date : undefined;
}

/** Returns a notification's id: one dispute may repeat an event code with another amount, or on another day. */
export function disputeNotificationIdOf(fields: SignedFields, { eventDate }: Json): string {
  const { eventCode, pspReference, success, value, currency } = fields;
  const at = Date.parse(typeof eventDate === "string" ? eventDate : "");
  const date = Number.isNaN(at) ? "" : new Date(at).toISOString();
  return `${eventCode}:${pspReference}:${success}:${currency}${value}:${date}`;
}
