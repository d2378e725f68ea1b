/** What a gateway without a read has told us: its stored, signed notices, read as a look-up. */
import type { LookUpAnswer } from "../gateways/connector.ts";
import type { Database, Queryable, Statement } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import type { Attempt } from "./entities.ts";

const selectNotices: Statement = {
  name: "select_notices_of_attempt",
  text: `
    SELECT kind, gateway_reference AS "gatewayReference", declined,
      (amount_minor, currency) IS NOT DISTINCT FROM ($3::bigint, $4::text) AS "isOurAmount"
    FROM gateway_notice
    WHERE connection_id = $1 AND attempt_reference = $2 AND (kind <> 'absent' OR received_at >= $5)
    ORDER BY "isOurAmount" DESC, received_at`,
};

type NoticeRow = {
  kind: string;
  gatewayReference: string;
  declined: Extract<LookUpAnswer, { type: "declined" }> | null;
  isOurAmount: boolean;
};

// The furthest state that any notice reports; their order of arrival means nothing.
const isMoney = new Set(["captured", "already_captured", "held"]);
const byWeight = ["captured", "already_captured", "voided", "held", "absent", "declined"];

/**
 * Money counts only for exactly our amount and currency, and only under our reference: of a hold over another amount we
 * cannot tell, and it has to end all the same, so `voided` is believed over any amount.
 * What never existed counts once the gateway has taken on a void that was sent after the attempt's horizon, and nothing
 * was ever held: an earlier void may have found nothing because the authorize had yet to come.
 */
export async function lookUpInNotices(database: Database, attempt: Attempt): Promise<LookUpAnswer> {
  const rows = await database.query<NoticeRow>(selectNotices, [
    attempt.connectionId,
    encodeId("att", attempt.id),
    attempt.amountMinor,
    attempt.currency,
    attempt.voidAskedAt ?? null,
  ]);
  const notice = byWeight.map((kind) => rows.find((row) => row.kind === kind)).find((row) => row !== undefined);
  if (notice && isMoney.has(notice.kind) && !notice.isOurAmount) {
    if (notice.kind === "held") return { type: "heldOther", gatewayReference: notice.gatewayReference };
    return { type: "cannotTell", reason: "the notice is about another amount" };
  }
  switch (notice?.kind) {
    case "captured":
    case "already_captured":
      return { type: "captured", gatewayReference: notice.gatewayReference };
    case "voided":
      return { type: "voided" };
    case "absent":
      return { type: "absent" };
    case "held":
      return { type: "held", gatewayReference: notice.gatewayReference };
    case "declined":
      return notice.declined ?? { type: "cannotTell", reason: "a declined notice without its code" };
    default:
      return { type: "cannotTell", reason: "no notice about this attempt has arrived" };
  }
}

const selectEnd: Statement = {
  name: "select_end_of_authorization",
  text: `
    SELECT bool_or(kind IN ('captured','already_captured')) AS "isCaptured"
    FROM gateway_notice
    WHERE connection_id = $1 AND attempt_reference = $2 AND gateway_reference = $3
      AND kind IN ('captured','already_captured','voided')`,
};

/** What was reported of exactly this authorization's end; undefined before there is a report. */
export async function findEndInNotices(
  queryable: Queryable,
  attempt: Pick<Attempt, "id" | "connectionId">,
  gatewayReference: string,
): Promise<"captured" | "voided" | undefined> {
  const values = [attempt.connectionId, encodeId("att", attempt.id), gatewayReference];
  const [row] = await queryable.query<{ isCaptured: boolean | null }>(selectEnd, values);
  if (row === undefined || row.isCaptured === null) return undefined;
  return row.isCaptured ? "captured" : "voided";
}
