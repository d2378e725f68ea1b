/** Reads the stored, signed notifications of a gateway that cannot be read, as the answer to a look-up. */
import type { LookUpAnswer } from "../../gateways/connector.ts";
import type { StoredAnswer } from "../../gateways/stored-cards.ts";
import type { Queryable, Statement } from "../../platform/database.ts";
import { encodeId } from "../../platform/ids.ts";
import type { Attempt } from "../rows/entities.ts";

const selectNotifications: Statement = {
  name: "select_notifications_of_attempt",
  text: `
    SELECT kind, gateway_reference AS "gatewayReference", declined, stored,
      amount_minor AS "amountMinor", kind IN ('captured','already_captured')
        AND currency = $4 AND amount_minor BETWEEN 1 AND $3 AND gateway_reference = coalesce($6, gateway_reference) AS "isPart",
      (amount_minor, currency) IS NOT DISTINCT FROM (
        CASE WHEN kind IN ('captured','already_captured') THEN coalesce($7, $3) ELSE $3 END::bigint, $4::text) AS "isOurAmount"
    FROM gateway_notification
    WHERE connection_id = $1 AND attempt_reference = $2 AND (kind <> 'absent' OR received_at >= $5)
      AND (kind <> 'voided' OR $6::text IS NULL OR gateway_reference = $6)
      AND (kind <> 'voided' OR coalesce(amount_minor <> nullif($3::bigint - $7::bigint, 0), true))
    ORDER BY "isOurAmount" DESC, received_at`,
};

type NotificationRow = {
  kind: string;
  gatewayReference: string;
  declined: Extract<LookUpAnswer, { type: "declined" }> | null;
  stored: StoredAnswer | null;
  amountMinor: string | null;
  isOurAmount: boolean;
  /** True for a capture of at most the held amount, by the service or by hand. */
  isPart: boolean;
};

// The furthest state that any notification reports counts; the order of arrival means nothing.
const isMoney = new Set(["captured", "already_captured", "held"]);
const byWeight = ["captured", "already_captured", "voided", "held", "absent", "declined"];

/**
 * Answers a look-up from notifications. A hold counts only for exactly our amount and currency, a capture also for a
 * part of our hold, which a person may have captured; the ordered amount comes first. Both count only under our
 * reference. A hold over another amount stays undecided but has to end, so `voided` is believed for any amount. If the
 * attempt's authorization is known, `voided` counts for that one alone: the gateway may have voided another one beside
 * it. A void of exactly what an ordered capture leaves over says nothing about the capture. `absent` counts once the
 * gateway has accepted a void that was sent after the attempt's latest execution time, and nothing was ever held: an
 * earlier void may have found nothing because the authorization had yet to arrive.
 */
export async function lookUpInNotifications(queryable: Queryable, attempt: Attempt): Promise<LookUpAnswer> {
  const rows = await queryable.query<NotificationRow>(selectNotifications, [
    attempt.connectionId,
    encodeId("att", attempt.id),
    attempt.amountMinor,
    attempt.currency,
    attempt.voidAskedAt ?? null,
    attempt.gatewayReference,
    (attempt.decisionConfirmedAt && attempt.decisionAmountMinor) ?? attempt.capturedAmountMinor,
  ]);
  const notification = byWeight.map((kind) => rows.find((row) => row.kind === kind)).find((row) => row !== undefined);
  const { isPart, amountMinor } = notification ?? {};
  if (notification && isMoney.has(notification.kind) && !notification.isOurAmount && !isPart) {
    if (notification.kind === "held") return { type: "heldOther", gatewayReference: notification.gatewayReference };
    return { type: "inconclusive", reason: "the notification is about another amount" };
  }
  switch (notification?.kind) {
    case "captured":
    case "already_captured":
      return {
        type: "captured",
        gatewayReference: notification.gatewayReference,
        // An absent amount means the whole amount.
        ...(Number(amountMinor) !== attempt.amountMinor && { capturedMinor: Number(amountMinor) }),
      };
    case "voided":
      return { type: "voided" };
    case "absent":
      return { type: "absent" };
    case "held":
      return {
        type: "held",
        gatewayReference: notification.gatewayReference,
        ...(notification.stored && { stored: notification.stored }),
      };
    case "declined":
      return notification.declined ?? { type: "inconclusive", reason: "a declined notification without its code" };
    default:
      return { type: "inconclusive", reason: "no notification about this attempt has arrived" };
  }
}

const selectRefusal: Statement = {
  name: "select_void_refusal",
  text: `
    SELECT min(received_at) AS "refusedAt" FROM gateway_notification
    WHERE connection_id = $1 AND attempt_reference = $2 AND kind = 'void_refused' AND received_at >= $3`,
};

/**
 * Returns the time at which the gateway first reported that it refused a void, after one was sent past the attempt's latest
 * execution time; undefined before it has.
 */
export async function findVoidRefusal(
  queryable: Queryable,
  { id, connectionId, voidAskedAt }: Pick<Attempt, "id" | "connectionId" | "voidAskedAt">,
): Promise<Date | undefined> {
  const values = [connectionId, encodeId("att", id), voidAskedAt ?? null];
  const [row] = await queryable.query<{ refusedAt: Date | null }>(selectRefusal, values);
  return row?.refusedAt ?? undefined;
}

const selectEnd: Statement = {
  name: "select_end_of_authorization",
  text: `
    SELECT bool_or(kind IN ('captured','already_captured')) AS "isCaptured"
    FROM gateway_notification
    WHERE connection_id = $1 AND attempt_reference = $2 AND gateway_reference = $3
      AND kind IN ('captured','already_captured','voided')`,
};

/** Returns the reported end of exactly this authorization; undefined before there is a report. */
export async function findEndInNotifications(
  queryable: Queryable,
  attempt: Pick<Attempt, "id" | "connectionId">,
  gatewayReference: string,
): Promise<"captured" | "voided" | undefined> {
  const values = [attempt.connectionId, encodeId("att", attempt.id), gatewayReference];
  const [row] = await queryable.query<{ isCaptured: boolean | null }>(selectEnd, values);
  if (row === undefined || row.isCaptured === null) return undefined;
  return row.isCaptured ? "captured" : "voided";
}
