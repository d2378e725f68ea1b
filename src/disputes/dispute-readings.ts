/** Records disputes as a gateway's own record has them. */
import type { Core } from "../core/core.ts";
import { lockSession } from "../core/record/load-session.ts";
import { capturedOf } from "../core/rows/payment.ts";
import type { DisputeReading } from "../gateways/dispute-readings.ts";
import { gatewayReferenceCharactersMax } from "../limits.ts";
import type { Statement } from "../platform/database.ts";
import type { ConnectionId } from "../platform/ids.ts";
import { findPayment, recordUncaptured } from "./dispute-reports.ts";
import { recordReading } from "./dispute-rows.ts";

const selectAsked: Statement = {
  name: "select_dispute_asked_at",
  text: `SELECT max(asked_at) AS "askedAt" FROM dispute WHERE connection_id = $1 AND gateway_reference = $2`,
};

/** Returns when a dispute was read last. */
export async function askedAtOf(
  core: Core,
  connectionId: ConnectionId,
  gatewayReference: string,
): Promise<Date | undefined> {
  const [row] = await core.database.query<{ askedAt: Date | null }>(selectAsked, [connectionId, gatewayReference]);
  return row?.askedAt ?? undefined;
}

/** Records one dispute. `notOurs`: its payment was not made here. `later`: its capture is not recorded yet. */
export async function recordDisputeReading(
  core: Core,
  { connectionId, reading, askedAt }: { connectionId: ConnectionId; reading: DisputeReading; askedAt: Date },
): Promise<"recorded" | "notOurs" | "later"> {
  const { gatewayReference, paymentReference = "", attemptReference = "", captureReference } = reading;
  if (gatewayReference.length > gatewayReferenceCharactersMax) return "notOurs";
  const payment = { connectionId, gatewayReference: paymentReference, attemptReference };
  const found = await findPayment(core, payment, gatewayReference);
  if (found === undefined || found === "unknown") return "notOurs";
  return core.database.transaction(async (tx) => {
    const loaded = await lockSession(tx, found.sessionId);
    if (loaded === undefined) return "notOurs";
    const captured = capturedOf(loaded);
    const known = captured?.captureReference ?? undefined;
    const isForeign = found.isForeign || (known !== undefined && (captureReference ?? known) !== known);
    if (captured?.id !== found.attemptId || isForeign) {
      const result = await recordUncaptured(tx, core, { loaded, found: { ...found, isForeign }, gatewayReference });
      return result ?? "recorded";
    }
    await recordReading(tx, core, { loaded, captured, reading, askedAt });
    return "recorded";
  });
}
