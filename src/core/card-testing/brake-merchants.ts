/**
 * Begins and ends the braking of merchants, with its alert. While a merchant brakes, a card that it never approved is
 * authenticated where that is possible and gets no second gateway after a decline (braked-plan.ts, `decideAfterFailure`).
 */

import { endAlertsOf, openAlert } from "../../events/alerts.ts";
import type { Queryable, Statement } from "../../platform/database.ts";
import type { AlertId, MerchantId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import { calmSince, daysOfHistory, isOver, isSuspicious, thresholdOf, windowMs } from "./judge-braking.ts";

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;

/** SQL: payments that were declined in a tester's way within the last two seconds. */
export const testedNow =
  "tested_payment WHERE tested_at BETWEEN (SELECT app.clock()) - interval '2 seconds' AND (SELECT app.clock())";

// In test many payments share one card, so each payment counts, also those that its own count has refused.
const cardsInSql = (isTest: string) =>
  `count(DISTINCT CASE WHEN ${isTest} THEN session_id WHEN NOT refused THEN fingerprint END)::int`;

// Selects the merchants with such declines, those that brake, and those whose braking a person holds.
const selectMerchants: Statement = {
  name: "select_merchants_to_brake",
  text: `
    SELECT merchant_id AS "merchantId", coalesce(t.cards, 0) AS cards, (SELECT app.clock()) AS now,
      b.began_at AS "beganAt", b.threshold, b.cards AS most, b.calm_since AS "calmSince", b.begun_by AS "begunBy",
      h.is_on AS "heldOn", h.held_by AS "heldBy"
    FROM (SELECT merchant_id, ${cardsInSql("$3::boolean")} AS cards FROM tested_payment
          WHERE tested_at > (SELECT app.clock()) - $1 * interval '1 ms' GROUP BY merchant_id) t
    FULL JOIN (SELECT * FROM braking WHERE ended_at IS NULL) b USING (merchant_id)
    FULL JOIN (SELECT * FROM braking_hold WHERE until > (SELECT app.clock())) h USING (merchant_id)
    WHERE $2::uuid IS NULL OR merchant_id = $2`,
};

type MerchantRow = {
  readonly merchantId: MerchantId;
  readonly cards: number;
  readonly now: Date;
  readonly beganAt: Date | null;
  readonly threshold: number | null;
  readonly most: number | null;
  readonly calmSince: Date | null;
  readonly begunBy: string | null;
  readonly heldOn: boolean | null;
  readonly heldBy: string | null;
};

const selectEarlier: Statement = {
  name: "select_tested_cards",
  text: `
    SELECT coalesce(array_agg(cards) FILTER (WHERE starts_at >= $3 AND extract(hour FROM starts_at AT TIME ZONE 'UTC') = $4), '{}') AS earlier,
      min(starts_at) AS first
    FROM tested_cards WHERE merchant_id = $1 AND starts_at < $2`,
};

const begin: Statement = {
  name: "begin_braking",
  text: `INSERT INTO braking (merchant_id, threshold, cards, begun_by) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING RETURNING began_at AS "beganAt"`,
};
const update: Statement = {
  name: "update_braking",
  text: `UPDATE braking SET cards = greatest(cards, $3), calm_since = $4, ended_at = CASE WHEN $5 THEN app.clock() END
         WHERE merchant_id = $1 AND began_at = $2 AND ended_at IS NULL RETURNING ended_at AS "endedAt"`,
};
const describeEnd: Statement = {
  name: "describe_braking_end",
  text: `UPDATE alert SET detail = $2 WHERE merchant_id = $1 AND kind = 'CARD_TESTING' AND over_at IS NULL RETURNING id`,
};

const countWindow: Statement = {
  name: "count_tested_cards",
  text: `
    INSERT INTO tested_cards (merchant_id, starts_at, cards)
    SELECT merchant_id, $1, ${cardsInSql("$3::boolean")} FROM tested_payment
    WHERE tested_at >= $1 AND tested_at < $2 AND ($3::boolean OR NOT refused) GROUP BY merchant_id ON CONFLICT DO NOTHING`,
};
const selectNow: Statement = { name: "select_clock_of_braking", text: "SELECT app.clock() AS now" };

type Parts = Pick<Core, "runtime"> & {
  readonly isTest: boolean;
  readonly database: Queryable;
  /** Absent if a person waits for the outcome. */
  readonly log?: Core["log"];
};

/**
 * Returns a turn that begins and ends the braking of every merchant. All workers may run it at once. It returns false: the
 * next turn is in time.
 */
export function createBrakeTurn(core: Parts): () => Promise<boolean> {
  let countedUntil = 0;
  return async () => {
    const { database } = core;
    const [clock] = await database.query<{ now: Date }>(selectNow, []);
    const startsAt = Math.floor(clock!.now.getTime() / windowMs) * windowMs;
    if (startsAt > countedUntil) {
      await database.query(countWindow, [new Date(startsAt - windowMs), new Date(startsAt), core.isTest]);
      countedUntil = startsAt;
    }
    await brakeMerchants(core);
    return false;
  };
}

/** Begins and ends the braking of every merchant, or of this one, by the cards of the last ten minutes and by what people hold. */
export async function brakeMerchants(core: Parts, merchantId?: MerchantId): Promise<void> {
  const rows = await core.database.query<MerchantRow>(selectMerchants, [windowMs, merchantId ?? null, core.isTest]);
  for (const row of rows) await brake(core, row);
}

async function brake(core: Parts, row: MerchantRow): Promise<void> {
  const { merchantId, cards, now, beganAt, heldOn } = row;
  if (beganAt === null) {
    if (heldOn === false || (!heldOn && !isSuspicious(cards))) return;
    const threshold = await loadThreshold(core.database, merchantId, now);
    if (!heldOn && cards <= threshold) return;
    const [begun] = await core.database.query(begin, [merchantId, threshold, cards, heldOn ? row.heldBy : null]);
    if (begun === undefined) return;
    const reason = `${cards} cards in ten minutes; the threshold is ${threshold}`;
    core.log?.warn({ merchant: merchantId, reason }, "a merchant brakes against card testing");
    return alert(core, { ...row, threshold, begunBy: heldOn ? row.heldBy : null });
  }
  const threshold = row.threshold!;
  const calm = calmSince({ threshold, calmSince: row.calmSince }, cards, now);
  const hasEnded = isOver(calm, heldOn, now);
  const change = () => core.database.query(update, [merchantId, beganAt, cards, calm, hasEnded]);
  if (!hasEnded) {
    await change();
    return alert(core, { ...row, threshold });
  }
  const minutes = Math.max(1, Math.round((now.getTime() - beganAt.getTime()) / 60_000));
  const detail = `Payments were braked for ${minutes} min. At most ${inWords(Math.max(cards, row.most ?? 0))} within ten minutes; the threshold was ${threshold}.`;
  const ended = await core.database.query<{ id: AlertId }>(describeEnd, [merchantId, detail]);
  await endAlertsOf(
    core.database,
    ended.map(({ id }) => id),
  );
  // The last step: a process that dies before it is followed by another, which ends the alert again.
  const [updated] = await change();
  if (updated) core.log?.info({ merchant: merchantId }, "a merchant no longer brakes");
}

const inWords = (cards: number) => `${cards === 1 ? "1 card was" : `${cards} cards were`} declined as testers' are`;

/** Opens the alert, if it is not open: one that ended a moment ago opens again only after a pause. */
async function alert(
  { database, runtime }: Parts,
  { merchantId, cards, threshold, begunBy, beganAt, now }: MerchantRow,
): Promise<void> {
  const cause = begunBy === null ? "" : `${begunBy} has held braking on. `;
  const detail = `${cause}${inWords(cards)} within ten minutes; the threshold is ${threshold}. Cards that were never approved here are authenticated where that is possible, get no second gateway after a decline, and customers read no reason of a decline.`;
  const nothing = { endpointId: null, connectionId: null, gateway: null };
  const matter = { id: runtime.uuid(), merchantId, kind: "CARD_TESTING" as const, ...nothing };
  await openAlert(database, { ...matter, detail, since: beganAt ?? now });
}

/** Returns the number of cards above which the merchant brakes at this time. */
async function loadThreshold(database: Queryable, merchantId: MerchantId, now: Date): Promise<number> {
  const hour = Math.floor(now.getTime() / hourMs) * hourMs;
  const values = [merchantId, new Date(hour), new Date(hour - daysOfHistory * dayMs), now.getUTCHours()];
  const [row] = await database.query<{ earlier: number[]; first: Date | null }>(selectEarlier, values);
  const days = row?.first ? Math.floor((hour - row.first.getTime()) / dayMs) : 0;
  return thresholdOf(row!.earlier, Math.min(days, daysOfHistory));
}
