/** Payments whose dispute SANDBOX_A knows, so that it takes an answer. */
import { v7 } from "uuid";
import type { DashboardFixture } from "../../../dashboard/dashboard.fixture.ts";
import { recordConnection, recordVerified, stageCredentials } from "../../../gateways/connections.ts";
import { decodeId, encodeId } from "../../../platform/ids.ts";
import { SandboxControl } from "../sandbox-control.ts";
import { makePayment, openTables } from "./payment-rows.ts";

/** Makes such a payment, of which nothing has been heard for a year if `silent`, and returns its public ids. */
export async function makeDisputed(dashboard: DashboardFixture, { silent = false, settled = false } = {}) {
  const account = `test_${v7()}`;
  const authorization = await payAtSandbox(dashboard.sandboxOrigin, account);
  await openTables(dashboard);
  const { sessionId, sessionUuid } = await makePayment(dashboard, {});
  const connectionId = await connectAccount(dashboard, account);
  await dashboard.rows(
    "UPDATE attempt SET captured_amount_minor = amount_minor, connection_id = $2, gateway_reference = $3 WHERE session_id = $1",
    [sessionUuid, connectionId, authorization],
  );
  await dashboard.rows("SET session_replication_role = origin");
  const disputeId = v7();
  const deadline = new Date(Date.now() + (silent ? -300 : 9) * 86_400_000);
  await dashboard.rows(
    `SELECT FROM app.record_dispute($1, $2, (SELECT winner_attempt_id FROM payment_session WHERE id = $1), $3, 'SANDBOX_A', $4, 'CHARGEBACK',
       $6, 4900, 'EUR', 'not_received', '13.1', 'visa', $5, '[]', NULL, NULL)`,
    [sessionUuid, disputeId, connectionId, `dispute_${authorization}`, deadline, settled ? "LOST" : "NEEDS_RESPONSE"],
  );
  if (silent)
    await dashboard.rows("UPDATE dispute SET updated_at = now() - interval '1 year' WHERE id = $1", [disputeId]);
  const refundId = v7();
  if (settled) {
    await dashboard.rows("SELECT FROM app.insert_dispute_movement($1, $2, 'CHARGEBACK', 4900, 'EUR')", [
      sessionUuid,
      disputeId,
    ]);
    await dashboard.rows(
      `SELECT FROM app.insert_refund($1, $2, (SELECT winner_attempt_id FROM payment_session WHERE id = $1), $3, 'SANDBOX_A', 4900, 'EUR', 'SUCCEEDED',
         'GATEWAY', NULL, NULL, NULL, NULL, $4, NULL, NULL, false)`,
      [sessionUuid, refundId, connectionId, `refund_${authorization}`],
    );
  }
  return {
    sessionId,
    disputeId: encodeId("dsp", disputeId),
    ...(settled && { refundId: encodeId("ref", refundId) }),
  };
}

export async function connectAccount({ database, merchantId: publicId, sealing }: DashboardFixture, account: string) {
  const [connectionId, merchantId] = [v7(), decodeId("mer", publicId)!];
  await database.transaction(async (tx) => {
    await recordConnection(tx, { id: connectionId, merchantId, gateway: "SANDBOX_A", account });
    const credentials = { apiKey: `sandbox_${account}` };
    const credentialVersion = await stageCredentials(tx, sealing, { connectionId, credentials });
    await recordVerified(tx, { connectionId, credentialVersion });
  });
  return connectionId;
}

async function payAtSandbox(origin: string, account: string): Promise<string> {
  const post = async (path: string, fields: Record<string, string>) => {
    const headers = { authorization: `Bearer sandbox_${account}` };
    const answer = await fetch(`${origin}/a/v1/authorizations${path}`, {
      method: "POST",
      headers,
      body: new URLSearchParams(fields),
    });
    return (await answer.json()) as { id: string };
  };
  const control = new SandboxControl(origin);
  await control.setClockAhead(0);
  const order = { amount: "4900", currency: "EUR", reference: v7(), capture_method: "manual" };
  const { id } = await post("", { ...order, "card[number]": "4000000000007403" });
  await post(`/${id}/capture`, {});
  await control.setClockAhead(6_000);
  return id;
}
