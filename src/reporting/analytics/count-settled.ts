/** Counts settled payments in advance. A worker counts each exactly once, in the order in which they were settled. */
import type { Database, Statement } from "../../platform/database.ts";
import {
  type CountedTable,
  countedArmCosts,
  countedArms,
  countedAttempts,
  countedAuthentications,
  countedCards,
  countedDeclines,
  countedMinutes,
  countedPayments,
  countedRenewals,
  countedWallets,
  isPayment,
} from "./counted-facts.ts";

// Settled payments that are counted in one transaction: a second of work, far below the longest statement.
const countedPaymentsMax = 20_000;

// The worker that locks the row counts; the others have nothing to do.
const takeWalk: Statement = {
  name: "take_analytics_walk",
  text: `SELECT counted_until::text AS "countedUntil" FROM analytics_walk FOR UPDATE SKIP LOCKED`,
};

/** Selects the time up to which payments may be counted, and whether more are left after it. */
const selectSettledUntil: Statement = {
  name: "select_settled_until",
  text: `
    SELECT least(settled.before, edge.at)::text AS "until", edge.at IS NOT NULL AS "isMore"
    FROM app.settled_before() AS settled(before) LEFT JOIN LATERAL (
      SELECT max(settled_at) + interval '1 microsecond' AS at
      FROM (SELECT settled_at FROM payment_session WHERE settled_at >= $1::timestamptz ORDER BY settled_at LIMIT $2) s
      HAVING count(*) = $2) edge ON true`,
};

const fineness = `f AS (SELECT unnest(ARRAY[${countedMinutes}]) AS minutes)`;

const countInto = ({ table, keys, sums, facts }: CountedTable): Statement => {
  const columns = ["merchant_id", "minutes", "starts_at", ...keys, ...sums];
  const added = sums.map((name) => `${name} = c.${name} + excluded.${name}`);
  return {
    name: `count_into_${table}`,
    text: `
      WITH ${fineness}
      INSERT INTO ${table} AS c (${columns}) ${facts(`s.settled_at >= $1::timestamptz AND s.settled_at < $2::timestamptz AND ${isPayment}`)}
      ON CONFLICT (merchant_id, minutes, starts_at, ${keys}) DO UPDATE SET ${added}`,
  };
};

const countedTables = [
  ...[countedPayments, countedAttempts, countedDeclines, countedAuthentications],
  ...[countedCards, countedRenewals, countedWallets, countedArms, countedArmCosts],
];
const counts = countedTables.map(countInto);

/** SQL: forgets every count, so that all settled payments are counted again. The tables' owner alone can run it. */
export const forgetCounts = `${countedTables.map(({ table }) => `DELETE FROM ${table};`).join(" ")}
  UPDATE analytics_walk SET counted_until = '-infinity'`;

const moveWalk: Statement = {
  name: "move_analytics_walk",
  // Never moves back, whatever a clock does, so nothing is counted twice.
  text: "UPDATE analytics_walk SET counted_until = $1::timestamptz WHERE counted_until < $1::timestamptz",
};

/**
 * Counts payments that were settled since the last call. Returns true when there may be more. Timestamps are passed as
 * text, which keeps microseconds.
 */
export async function countSettledOnce(database: Database): Promise<boolean> {
  return database.transaction(async (tx) => {
    const [walk] = await tx.query<{ countedUntil: string }>(takeWalk, []);
    if (walk === undefined) return false;
    const values = [walk.countedUntil, countedPaymentsMax];
    const [reached] = await tx.query<{ until: string; isMore: boolean }>(selectSettledUntil, values);
    for (const count of counts) await tx.query(count, [walk.countedUntil, reached!.until]);
    await tx.query(moveWalk, [reached!.until]);
    return reached!.isMore;
  });
}
