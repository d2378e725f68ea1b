/**
 * Alerts for a merchant's people: their kinds and topics, and how they open and end. An alert is open once for each
 * matter. endpoint-alerts.ts has those about endpoints that fail; send-alerts.ts sends all of them.
 */

import { alertPauseMs } from "../limits.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import type { AlertId, ConnectionId, DisputeId, EndpointId, MerchantId } from "../platform/ids.ts";
import type { AlertKind } from "./endpoint-alerts.ts";

/** Topics, which a merchant may mute: every alert has one. */
export const alertTopics = [
  "GATEWAY_UNHEALTHY",
  "CREDENTIALS_REFUSED",
  "APPROVAL_RATE",
  "ENDPOINT_FAILING",
  "UNVERIFIED",
  "HOLDS_EXPIRING",
  "PAID_MORE_THAN_ONCE",
  "CARD_TESTING",
  "AGREEMENTS_UNCHARGEABLE",
  "RENEWALS_STOPPED",
  "CARDS_NOT_ERASED",
  "APPLE_PAY_ENDING",
  "DISPUTES",
  "SETTLEMENT",
] as const;
export type AlertTopic = (typeof alertTopics)[number];

/** The kinds of alerts besides those about endpoints that fail. */
export type MatterKind =
  | "GATEWAY_UNHEALTHY"
  | "CREDENTIALS_REFUSED"
  | "APPROVAL_RATE_LOW"
  | "GATEWAY_UNVERIFIED"
  | "ENDPOINT_UNVERIFIED"
  | "HOLDS_EXPIRING"
  | "PAID_MORE_THAN_ONCE"
  | "CARD_TESTING"
  | "AGREEMENTS_UNCHARGEABLE"
  | "RENEWALS_STOPPED"
  | "CARDS_NOT_ERASED"
  | "APPLE_PAY_ENDING"
  | "DISPUTE_OPENED"
  | "DISPUTE_DUE"
  | "DISPUTES_UNREADABLE"
  | "SETTLEMENT_OVERDUE"
  | "PAYOUT_REMAINDER"
  | "SETTLEMENT_UNREADABLE";

export function topicOf(kind: AlertKind | MatterKind): AlertTopic {
  switch (kind) {
    case "GATEWAY_UNHEALTHY":
    case "CREDENTIALS_REFUSED":
    case "HOLDS_EXPIRING":
    case "PAID_MORE_THAN_ONCE":
    case "CARD_TESTING":
    case "AGREEMENTS_UNCHARGEABLE":
    case "RENEWALS_STOPPED":
    case "CARDS_NOT_ERASED":
    case "APPLE_PAY_ENDING":
      return kind;
    case "DISPUTE_OPENED":
    case "DISPUTE_DUE":
    case "DISPUTES_UNREADABLE":
      return "DISPUTES";
    case "SETTLEMENT_OVERDUE":
    case "PAYOUT_REMAINDER":
    case "SETTLEMENT_UNREADABLE":
      return "SETTLEMENT";
    case "APPROVAL_RATE_LOW":
      return "APPROVAL_RATE";
    case "GATEWAY_UNVERIFIED":
    case "ENDPOINT_UNVERIFIED":
      return "UNVERIFIED";
    case "FAILING_24_HOURS":
    case "FAILING_72_HOURS":
    case "DISABLED_FAILING":
    case "DISABLED_GONE":
      return "ENDPOINT_FAILING";
    default:
      return unreachable(kind);
  }
}

/** A matter that an alert is about, with what it concerns; each id is null if it concerns none. */
export type Matter = {
  readonly merchantId: MerchantId;
  readonly kind: MatterKind;
  readonly endpointId: EndpointId | null;
  readonly connectionId: ConnectionId | null;
  readonly gateway: string | null;
  /** Present if the alert is about one dispute. */
  readonly disputeId?: DisputeId | null;
};

export type OpenMatter = Matter & { readonly id: AlertId; readonly since: Date };

const selectOpen: Statement = {
  name: "select_open_matters",
  text: `SELECT id, merchant_id AS "merchantId", kind, endpoint_id AS "endpointId", connection_id AS "connectionId", gateway,
           dispute_id AS "disputeId", since
         FROM alert WHERE over_at IS NULL AND detail IS NOT NULL ORDER BY id`,
};

/** Loads the open alerts of all merchants, without those about endpoints that fail. */
export async function loadOpenMatters(queryable: Queryable): Promise<OpenMatter[]> {
  return queryable.query<OpenMatter>(selectOpen, []);
}

// A matter that comes and goes opens at most one alert in the pause after the one before, and a dispute one of each kind.
const insertAlert: Statement = {
  name: "open_alert",
  text: `INSERT INTO alert (id, merchant_id, kind, endpoint_id, connection_id, gateway, since, detail, covers_until, dispute_id)
         SELECT $1, $2, $3, $4, $5, $6, coalesce($7::timestamptz, app.clock()), $8, $9, $10
         WHERE NOT EXISTS (
           SELECT FROM alert x WHERE x.merchant_id = $2 AND x.kind = $3 AND x.endpoint_id IS NOT DISTINCT FROM $4::uuid
             AND x.connection_id IS NOT DISTINCT FROM $5::uuid AND x.gateway IS NOT DISTINCT FROM $6::text
             AND x.dispute_id IS NOT DISTINCT FROM $10::uuid
             AND ($10::uuid IS NOT NULL OR x.over_at > (SELECT app.clock()) - ${alertPauseMs} * interval '1 ms'))
         ON CONFLICT DO NOTHING RETURNING id`,
};

/**
 * Opens an alert, unless one is open for the same matter or ended within the pause. `since` is now by default,
 * `coversUntil` is for holds only. Returns true if it opened.
 */
export async function openAlert(
  queryable: Queryable,
  opened: Matter & { id: AlertId; detail: string; since?: Date; coversUntil?: Date },
): Promise<boolean> {
  const { id, merchantId, kind, endpointId, connectionId, gateway, since, detail, coversUntil, disputeId } = opened;
  const subject = [merchantId, kind, endpointId, connectionId, gateway];
  const values = [id, ...subject, since ?? null, detail, coversUntil ?? null, disputeId ?? null];
  return (await queryable.query(insertAlert, values)).length > 0;
}

/**
 * SQL: when the end of an alert `n` is sent. Only to those who got its beginning: one without recipients, and that is
 * not being sent, ends in silence. While a worker sends its beginning, its end waits for that.
 */
const endSentAt = `CASE WHEN n.send_at IS NOT NULL OR n.sent_to <> '{}'
  THEN greatest(app.clock(), n.send_at) END`;

const endAlerts: Statement = {
  name: "end_alerts",
  text: `UPDATE alert n SET over_at = app.clock(), send_attempts = 0, send_at = ${endSentAt}
         WHERE id = ANY ($1::uuid[]) AND over_at IS NULL`,
};

const replaceOpen: Statement = {
  name: "replace_alert",
  text: `WITH ended AS (
           UPDATE alert SET over_at = app.clock(), send_at = NULL WHERE id = $1 AND over_at IS NULL RETURNING merchant_id, kind)
         INSERT INTO alert (id, merchant_id, kind, since, detail) SELECT $2, merchant_id, kind, $3, $4 FROM ended RETURNING id`,
};

/** Ends an alert of a merchant as a whole in silence, and opens another one of the same matter. Returns true if it did. */
export async function replaceAlert(
  queryable: Queryable,
  replaced: AlertId,
  { id, since, detail }: { readonly id: AlertId; readonly since: Date; readonly detail: string },
): Promise<boolean> {
  return (await queryable.query(replaceOpen, [replaced, id, since, detail])).length > 0;
}

export async function endAlertsOf(queryable: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await queryable.query(endAlerts, [ids]);
}

// If an episode has several alerts, only the last one's end is sent.
const endEndpointAlerts: Statement = {
  name: "end_endpoint_alerts",
  text: `UPDATE alert n SET over_at = app.clock(), send_attempts = 0, send_at = CASE WHEN NOT EXISTS (
           SELECT FROM alert later WHERE later.endpoint_id = n.endpoint_id AND later.since = n.since AND later.id > n.id
             AND later.detail IS NULL) THEN ${endSentAt} END
         FROM endpoint e
         WHERE n.over_at IS NULL AND n.detail IS NULL AND e.id = n.endpoint_id
           AND (e.failing_since IS DISTINCT FROM n.since OR e.status = 'REMOVED')`,
};

/** Ends the alerts about endpoints that have accepted a webhook since, or that a person has corrected or removed. */
export async function endEndpointAlertsOnce(queryable: Queryable): Promise<void> {
  await queryable.query(endEndpointAlerts, []);
}
