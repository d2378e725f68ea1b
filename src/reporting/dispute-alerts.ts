/** Finds what matters about disputes now, for alerts: the new ones, those that are due soon, and accounts whose disputes cannot be read. */
import { dueSoonHours, isAnswered } from "../disputes/due-disputes.ts";
import type { Matter, OpenMatter } from "../events/alerts.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { type ConnectionId, type DisputeId, encodeId, type MerchantId, type SessionId } from "../platform/ids.ts";
import { amountInWords } from "../platform/money.ts";

type Found = Matter & { readonly detail: string; readonly since?: Date };

// A dispute that was open before is no news: an account that is read for the first time may have many.
const newForDays = 3;

const isUnsent = (kind: string) => `NOT EXISTS (SELECT FROM alert a WHERE a.dispute_id = d.id AND a.kind = '${kind}')`;

const selectOpen: Statement = {
  name: "select_disputes_to_alert",
  text: `
    SELECT merchant_id AS "merchantId", id AS "disputeId", session_id AS "sessionId", gateway, stage, amount_minor AS "amountMinor", currency,
      respond_by AS "respondBy", created_at AS since,
      created_at > (SELECT app.clock()) - interval '${newForDays} days' AND ${isUnsent("DISPUTE_OPENED")} AS "isNew",
      coalesce(respond_by > (SELECT app.clock()) AND respond_by <= (SELECT app.clock()) + interval '${dueSoonHours} hours', false)
        AND ${isUnsent("DISPUTE_DUE")} AS "isDue"
    FROM dispute d WHERE closed_at IS NULL AND status = 'NEEDS_RESPONSE' AND NOT ${isAnswered("d")}`,
};
const selectBlocked: Statement = {
  name: "select_blocked_feeds",
  text: `
    SELECT c.merchant_id AS "merchantId", c.id AS "connectionId", c.gateway, f.blocked_reason AS reason, f.blocked_at AS since
    FROM gateway_feed f JOIN connection c ON c.id = f.connection_id WHERE f.kind = 'disputes' AND f.blocked_reason IS NOT NULL`,
};

type OpenDispute = {
  readonly merchantId: MerchantId;
  readonly disputeId: DisputeId;
  readonly sessionId: SessionId;
  readonly gateway: string;
  readonly stage: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly respondBy: Date | null;
  readonly since: Date;
  readonly isNew: boolean;
  readonly isDue: boolean;
};
type Blocked = {
  readonly merchantId: MerchantId;
  readonly connectionId: ConnectionId;
  readonly gateway: string;
  readonly reason: string;
  readonly since: Date;
};

const kinds: readonly string[] = ["DISPUTE_OPENED", "DISPUTE_DUE", "DISPUTES_UNREADABLE"];

/** Compares disputes with the alerts that are open. An alert is over once its dispute needs no response. */
export async function compareDisputes(
  database: Queryable,
  open: readonly OpenMatter[],
): Promise<{ readonly found: readonly Found[]; readonly over: readonly OpenMatter[] }> {
  const disputes = await database.query<OpenDispute>(selectOpen, []);
  const blocked = await database.query<Blocked>(selectBlocked, []);
  const found = [
    ...disputes.filter(({ isNew }) => isNew).map((one) => alertOf(one, "DISPUTE_OPENED")),
    ...disputes.filter(({ isDue }) => isDue).map((one) => alertOf(one, "DISPUTE_DUE")),
    ...blocked.map(({ reason, ...feed }) => ({
      ...{ ...feed, endpointId: null, kind: "DISPUTES_UNREADABLE" as const },
      detail: `${feed.gateway} does not let the disputes of this connection be read: ${reason}. It is tried again once a day.`,
    })),
  ];
  const waits = new Set<string>(disputes.map(({ disputeId }) => disputeId));
  const isStill = ({ disputeId, connectionId }: OpenMatter) =>
    disputeId ? waits.has(disputeId) : blocked.some((feed) => feed.connectionId === connectionId);
  return { found, over: open.filter((alert) => kinds.includes(alert.kind) && !isStill(alert)) };
}

function alertOf(dispute: OpenDispute, kind: "DISPUTE_OPENED" | "DISPUTE_DUE"): Found {
  const { merchantId, disputeId, sessionId, gateway, stage, amountMinor, currency, respondBy, since } = dispute;
  const what = { INQUIRY: "an inquiry", PRE_ARBITRATION: "pre-arbitration" }[stage] ?? "a chargeback";
  const until = respondBy ? ` Answer it by ${respondBy.toISOString().slice(0, 16).replace("T", " ")} UTC.` : "";
  const detail = `${gateway} reports ${what} over ${amountInWords(amountMinor, currency)} of the payment ${encodeId("ps", sessionId)}.${until}`;
  const subject = { merchantId, endpointId: null, connectionId: null, gateway, disputeId };
  return { ...subject, kind, detail, ...(kind === "DISPUTE_OPENED" && { since }) };
}
