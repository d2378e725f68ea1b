/** Payouts as rows, with a line of each status: what a gateway's statement leaves behind once it was read. */
import { v7 } from "uuid";
import type { DashboardFixture } from "../../../dashboard/dashboard.fixture.ts";
import { switchGuards } from "../../../migrations/switch-guards.ts";
import { decodeId, encodeId } from "../../../platform/ids.ts";
import { connectAccount } from "./disputed-payment.ts";
import { type MadePayment, makePayment, openTables } from "./payment-rows.ts";

/** Stores a captured payment of an account of SANDBOX_A, and returns its ids. */
export async function makeCaptured(dashboard: DashboardFixture, connectionId: string, made: MadePayment = {}) {
  await openTables(dashboard);
  const createdAt = new Date(Date.now() - 3_600_000);
  const { sessionId, sessionUuid, attemptIds } = await makePayment(dashboard, { createdAt, ...made });
  await dashboard.rows(
    "UPDATE attempt SET captured_amount_minor = amount_minor, connection_id = $2 WHERE session_id = $1",
    [sessionUuid, connectionId],
  );
  await dashboard.rows(switchGuards("ENABLE"));
  return { sessionId, sessionUuid, attemptUuid: decodeId("att", attemptIds.at(-1)!)! };
}

/**
 * Stores a payout of 95.11 that adds up: two payments of 49.00, of which one is listed with 48.99, less their fees of 0.94 and a fee of
 * the account.
 */
export async function makePayout(dashboard: DashboardFixture, orderRef = "order-1042") {
  const connectionId = await connectAccount(dashboard, `test_${v7()}`);
  const [paid, differing] = [
    await makeCaptured(dashboard, connectionId, { orderRef }),
    await makeCaptured(dashboard, connectionId, { orderRef: `${orderRef}-differs` }),
  ];
  const id = v7();
  await dashboard.rows(
    `INSERT INTO payout (id, merchant_id, connection_id, gateway, gateway_reference, status, amount_minor, currency, arrives_on)
     VALUES ($1, $1, $2, 'X', $3, 'PAID', 9511, 'EUR', '2026-03-05')`,
    [id, connectionId, `po_${orderRef}`],
  );
  const insertLine = `
    INSERT INTO payout_line (connection_id, line_id, digest, merchant_id, gateway, payout_id, kind, status, reason, gross_minor, currency,
      settled_gross_minor, fee_minor, net_minor, settlement_currency, gateway_type, gateway_reference, session_id, entry_type, entry_id, entry_ordinal, entry_at)
    VALUES ($1, $2, '', $3, 'X', $3, $4, $5, $6, $7, 'EUR', $7, $8, $7 - $8::bigint, 'EUR', $4, $2, $9, $10, $11, $12, $13)`;
  const addLine = (name: string, kind: string, status: string, rest: readonly unknown[]) =>
    dashboard.rows(insertLine, [connectionId, name, id, kind, status, ...rest]);
  const entry = [paid.sessionUuid, "CAPTURED", paid.attemptUuid, 0, new Date()];
  const none = [null, null, null, null];
  await addLine(`ch_${orderRef}`, "CAPTURE", "MATCHED", [null, 4900, 94, ...entry]);
  await addLine(`ch_${orderRef}_2`, "CAPTURE", "UNMATCHED", [
    "amount_differs",
    4899,
    94,
    differing.sessionUuid,
    ...none,
  ]);
  await addLine(`po_${orderRef}`, "PAYOUT", "ACCOUNT", [null, -9511, 0, null, ...none]);
  await addLine(`fee_${orderRef}`, "FEE", "ACCOUNT", [null, -100, 0, null, ...none]);
  await dashboard.rows("UPDATE payout SET lines_known = true, complete_at = now() WHERE id = $1", [id]);
  return { payoutId: encodeId("pout", id), connectionId, paid, differing };
}
