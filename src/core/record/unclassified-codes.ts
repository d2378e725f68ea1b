/**
 * Counts unclassified decline codes, so that a gateway's table can be extended. The connector itself decides on the
 * stop.
 */

import type { Declined } from "../../gateways/declines.ts";
import type { Queryable, Statement, Tx } from "../../platform/database.ts";
import type { AttemptId, MerchantId, SessionId } from "../../platform/ids.ts";
import type { Attempt } from "../rows/entities.ts";

// Longest stored part of an unclassified code: the longest of any gateway's tables has 60 characters.
const unclassifiedCodeCharactersMax = 100;
// Codes of one gateway that are counted separately and listed for a merchant: a person reads no more, and no gateway
// has as many.
const unclassifiedCodesMax = 500;

/** An unclassified code that has stopped attempts of a merchant. */
export type UnclassifiedCode = {
  readonly gateway: string;
  readonly gatewayCode: string;
  readonly attempts: number;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  /** The last attempt that it stopped. */
  readonly attemptId: AttemptId;
  readonly sessionId: SessionId;
};

const countCode: Statement = {
  name: "count_unclassified_code",
  partitionKey: 1,
  text: `
    INSERT INTO unclassified_code AS known (merchant_id, gateway, gateway_code, session_id, attempt_id)
    SELECT s.merchant_id, $3,
      CASE WHEN EXISTS (SELECT FROM unclassified_code c
                        WHERE c.merchant_id = s.merchant_id AND c.gateway = $3 AND c.gateway_code = $4)
        OR (SELECT count(*) FROM unclassified_code c WHERE c.merchant_id = s.merchant_id AND c.gateway = $3) < $5
      THEN $4 ELSE '(others)' END, $1, $2
    FROM payment_session s WHERE s.id = $1
    ON CONFLICT (merchant_id, gateway, gateway_code) DO UPDATE SET
      attempts = known.attempts + 1, last_seen_at = app.clock(),
      session_id = excluded.session_id, attempt_id = excluded.attempt_id`,
};

/**
 * Counts an attempt that was stopped as unclassified, in the transaction that records its decline. Other attempts are
 * not counted.
 */
export async function countUnclassified(tx: Tx, attempt: Attempt, declined: Declined): Promise<void> {
  if (declined.stop !== "unclassified") return;
  const code = declined.gatewayCode.slice(0, unclassifiedCodeCharactersMax);
  await tx.query(countCode, [attempt.sessionId, attempt.id, attempt.gateway, code, unclassifiedCodesMax]);
}

const selectCodes: Statement = {
  name: "select_unclassified_codes",
  text: `
    SELECT gateway, gateway_code AS "gatewayCode", attempts, first_seen_at AS "firstSeenAt",
      last_seen_at AS "lastSeenAt", attempt_id AS "attemptId", session_id AS "sessionId"
    FROM unclassified_code WHERE merchant_id = $1 ORDER BY last_seen_at DESC, gateway, gateway_code LIMIT $2`,
};

/** Lists a merchant's unclassified codes, latest first. */
export async function listUnclassifiedCodes(queryable: Queryable, merchantId: MerchantId): Promise<UnclassifiedCode[]> {
  return queryable.query<UnclassifiedCode>(selectCodes, [merchantId, unclassifiedCodesMax]);
}
