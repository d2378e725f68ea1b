/** Finds what matters about settlement now, for alerts: one of each kind for a connection. */
import type { Matter, OpenMatter } from "../events/alerts.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { ConnectionId, MerchantId } from "../platform/ids.ts";
import { amountInWords } from "../platform/money.ts";

type Found = Matter & { readonly detail: string; readonly since?: Date };

// A payout that does not add up is shown for a month, in which the reader of the alert has looked at it.
const selectFeeds: Statement = {
  name: "select_settlement_to_alert",
  text: `
    SELECT c.merchant_id AS "merchantId", c.id AS "connectionId", c.gateway, f.blocked_reason AS "blockedReason", f.blocked_at AS "blockedAt", f.overdue,
      p.gateway_reference AS "payoutReference", p.amount_minor::float8 AS "amountMinor", p.currency, p.remainder_minor::float8 AS "remainderMinor",
      p.complete_at AS "completeAt"
    FROM gateway_feed f JOIN connection c ON c.id = f.connection_id
    LEFT JOIN LATERAL (SELECT * FROM payout p WHERE p.connection_id = c.id AND p.merchant_id = c.merchant_id AND p.remainder_minor <> 0
      AND p.complete_at > (SELECT app.clock()) - interval '30 days' ORDER BY p.complete_at DESC LIMIT 1) p ON true
    WHERE f.kind = 'settlement' AND (f.blocked_reason IS NOT NULL OR f.overdue > 0 OR p.id IS NOT NULL)`,
};

type Row = {
  readonly merchantId: MerchantId;
  readonly connectionId: ConnectionId;
  readonly gateway: string;
  readonly blockedReason: string | null;
  readonly blockedAt: Date | null;
  readonly overdue: number;
  readonly payoutReference: string | null;
  readonly amountMinor: number;
  readonly currency: string;
  readonly remainderMinor: number;
  readonly completeAt: Date | null;
};

const kinds: readonly string[] = ["SETTLEMENT_OVERDUE", "PAYOUT_REMAINDER", "SETTLEMENT_UNREADABLE"];

export async function compareSettlement(
  database: Queryable,
  open: readonly OpenMatter[],
): Promise<{ readonly found: readonly Found[]; readonly over: readonly OpenMatter[] }> {
  const found = (await database.query<Row>(selectFeeds, [])).flatMap(mattersOf);
  const isStill = (alert: OpenMatter) =>
    found.some(({ kind, connectionId }) => kind === alert.kind && connectionId === alert.connectionId);
  return { found, over: open.filter((alert) => kinds.includes(alert.kind) && !isStill(alert)) };
}

function mattersOf({ merchantId, connectionId, gateway, ...row }: Row): Found[] {
  const subject = { merchantId, connectionId, gateway, endpointId: null };
  const found: Found[] = [];
  if (row.blockedReason !== null && row.blockedAt) {
    const detail = `${gateway} does not let the payouts of this connection be read: ${row.blockedReason}. It is tried again once a day.`;
    found.push({ ...subject, kind: "SETTLEMENT_UNREADABLE", detail, since: row.blockedAt });
  }
  if (row.overdue > 0) {
    const many = row.overdue === 1 ? "1 captured payment is" : `${row.overdue} captured payments are`;
    const detail = `${many} in no statement of ${gateway}, although the usual time has passed.`;
    found.push({ ...subject, kind: "SETTLEMENT_OVERDUE", detail });
  }
  if (row.payoutReference !== null && row.completeAt) {
    const [whole, rest] = [row.amountMinor, row.remainderMinor].map((minor) => amountInWords(minor, row.currency));
    const detail = `The lines of the payout ${row.payoutReference.slice(0, 100)} over ${whole} do not add up: ${rest} is not explained.`;
    found.push({ ...subject, kind: "PAYOUT_REMAINDER", detail, since: row.completeAt });
  }
  return found;
}
