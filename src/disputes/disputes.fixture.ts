/** Disputes of payments in tests: recorded as a notice of the gateway would be. */
import type { Core } from "../core/core.ts";
import { loadSession, lockSession } from "../core/record/load-session.ts";
import type { Dispute, ReportedNotice } from "../core/rows/disputes.ts";
import type { PaymentSession } from "../core/rows/entities.ts";
import { capturedOf } from "../core/rows/payment.ts";
import type { RefundFixture } from "../refunds/refunds.fixture.ts";
import { recordNotice } from "./dispute-rows.ts";

/**
 * Records a gateway's reports about a dispute of a captured payment, over the whole of it unless an amount is given.
 */
export async function dispute(
  core: Core,
  { id }: Pick<PaymentSession, "id">,
  notice: Partial<ReportedNotice> = {},
  gatewayReference = `DSP-${id}`,
): Promise<Dispute> {
  return core.database.transaction(async (tx) => {
    const loaded = (await lockSession(tx, id))!;
    const captured = capturedOf(loaded)!;
    const reported = {
      event: "charged",
      amountMinor: 4900,
      currency: "EUR",
      at: loaded.readAt.toISOString(),
      ...notice,
    } as const;
    await recordNotice(tx, core, { loaded, captured, gatewayReference, notice: reported });
    return (await loadSession(tx, id)).disputes!.find((one) => one.gatewayReference === gatewayReference)!;
  });
}

/**
 * Disputes payments and refunds them simultaneously, with a refund and a dispute of which only one fits. Returns how
 * many disputes and refunds were recorded, and how many refunds were sent after the dispute was known.
 */
export async function racePairs(fixture: RefundFixture, pairs: number) {
  const { core } = fixture;
  const sessions: PaymentSession[] = [];
  for (let pair = 0; pair < pairs; pair++) sessions.push(await fixture.pay());
  const racing = sessions.flatMap((session, place) => {
    const race = [() => dispute(core, session), () => fixture.refund(session)];
    return (place % 2 === 0 ? race : race.toReversed()).map((start) => start());
  });
  const results = await Promise.allSettled(racing);
  await fixture.work();
  const text = `
    SELECT count(d.id)::int AS disputes, count(r.id)::int AS refunds,
      count(r.id) FILTER (WHERE r.sent_at > d.created_at)::int AS "sentAfter",
      count(r.id) FILTER (WHERE r.sent_at <= d.created_at AND d.overlap_minor = 0 AND r.status <> 'FAILED')::int AS "unnamed"
    FROM dispute d LEFT JOIN refund r ON r.session_id = d.session_id WHERE d.session_id = ANY ($1::uuid[])`;
  const [counts] = await core.database.query<Record<"disputes" | "refunds" | "sentAfter" | "unnamed", number>>(
    { name: "count_pairs", text },
    [sessions.map(({ id }) => id)],
  );
  const refusals = results.filter((result) => result.status === "rejected").map(({ reason }) => reason.code);
  return { ...counts!, refusals };
}
