/** A person's hold on braking, and what the merchant's people see of braking. */

import type { Queryable, Statement, Tx } from "../../platform/database.ts";
import type { MerchantId } from "../../platform/ids.ts";

/** A person's word: the merchant brakes, or does not, until then. */
type BrakingHold = { readonly isOn: boolean; readonly until: Date; readonly heldBy: string };

/** A time in which a merchant brakes or braked, with the most cards of ten minutes. `begunBy` held it on. */
export type BrakingPeriod = {
  readonly beganAt: Date;
  readonly endedAt: Date | null;
  readonly cards: number;
  readonly threshold: number;
  readonly begunBy: string | null;
};

/** The open period of a merchant that brakes, and the hold that is in force. */
export type BrakingState = { readonly now: BrakingPeriod | undefined; readonly hold: BrakingHold | undefined };

const periodColumns = `b.began_at AS "beganAt", b.ended_at AS "endedAt", b.cards, b.threshold, b.begun_by AS "begunBy"`;

const selectOpen: Statement = {
  name: "select_open_braking",
  text: `SELECT ${periodColumns} FROM braking b WHERE merchant_id = $1 AND ended_at IS NULL`,
};
const selectHold: Statement = {
  name: "select_braking_hold",
  text: `SELECT is_on AS "isOn", until, held_by AS "heldBy" FROM braking_hold
         WHERE merchant_id = $1 AND until > (SELECT app.clock())`,
};

/** Loads whether a merchant brakes. */
export async function loadBraking(queryable: Queryable, merchantId: MerchantId): Promise<BrakingState> {
  const [now] = await queryable.query<BrakingPeriod>(selectOpen, [merchantId]);
  const [hold] = await queryable.query<BrakingHold>(selectHold, [merchantId]);
  return { now, hold };
}

// Periods of a year at most; a chart shows no more.
const periodsMax = 100;
const selectPeriods: Statement = {
  name: "select_braking_periods",
  text: `SELECT ${periodColumns} FROM braking b
         WHERE merchant_id = $1 AND began_at < $3 AND coalesce(ended_at, 'infinity') > $2 ORDER BY began_at DESC LIMIT ${periodsMax}`,
};

/** Lists the periods in which a merchant braked, newest first. */
export function listBraking(
  queryable: Queryable,
  { merchantId, from, to }: { merchantId: MerchantId; from: Date; to: Date },
): Promise<BrakingPeriod[]> {
  return queryable.query<BrakingPeriod>(selectPeriods, [merchantId, from, to]);
}

const setHold: Statement = {
  name: "set_braking_hold",
  text: `INSERT INTO braking_hold (merchant_id, is_on, until, held_by) VALUES ($1, $2, app.clock() + $3 * interval '1 hour', $4)
         ON CONFLICT (merchant_id) DO UPDATE SET is_on = EXCLUDED.is_on, until = EXCLUDED.until, held_by = EXCLUDED.held_by`,
};
const deleteHold: Statement = { name: "delete_braking_hold", text: "DELETE FROM braking_hold WHERE merchant_id = $1" };

/** Holds braking on or off for some hours. It takes effect with the next turn of `createBrakeTurn`. */
export async function recordHold(
  tx: Tx,
  { merchantId, isOn, hours, by }: { merchantId: MerchantId; isOn: boolean; hours: number; by: string },
): Promise<void> {
  await tx.query(setHold, [merchantId, isOn, hours, by]);
}

/** Ends a hold: from now on the declined cards decide. */
export async function removeHold(tx: Tx, merchantId: MerchantId): Promise<void> {
  await tx.query(deleteHold, [merchantId]);
}
