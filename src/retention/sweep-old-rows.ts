/**
 * Removes an environment's rows after their retention period if nothing else removes them. Payments and their events
 * are not among them. docs/retention.md has the periods of all tables.
 */
import { auditRetentionMs, clientSecretReadMs } from "../limits.ts";
import type { Database, Statement } from "../platform/database.ts";

const day = 24 * 60 * 60_000;

// Rows that one statement removes: it takes milliseconds, and the next one continues.
const retentionSweepRows = 1_000;
// Counts of payments: the longest range of the analytics, and two days for the edges of time zones.
const countsRetentionMs = 1_098 * day;
// Processed gateway notifications: longer than a chargeback may take (540 days from the payment).
const notificationRetentionMs = 550 * day;
// Orphaned authorizations that were voided: as long as the gateway notifications that explain them.
const orphanedAuthorizationRetentionMs = 550 * day;
// Reconciliation passes, one an hour: a quarter of a year shows a trend.
const reconciliationRetentionMs = 92 * day;
// Cards that were declined in testers' ways, by ten minutes: more than the days from which an hour is predicted.
const testedCardsRetentionMs = 92 * day;
// Alerts, and when merchants braked.
const alertRetentionMs = 400 * day;
// Entries of block lists that have ended; the audit trail has them longer.
const blocklistRetentionMs = 31 * day;

/** A table, the column from which its retention period runs, and a condition for rows that may be removed. */
type Kept = { readonly table: string; readonly since: string; readonly forMs: number; readonly only?: string };

const kept: readonly Kept[] = [
  {
    table: "gateway_notification",
    since: "received_at",
    forMs: notificationRetentionMs,
    only: "processed_at IS NOT NULL",
  },
  {
    table: "reconciliation_run",
    since: "started_at",
    forMs: reconciliationRetentionMs,
    only: "finished_at IS NOT NULL",
  },
  { table: "alert", since: "created_at", forMs: alertRetentionMs },
  { table: "blocklist_entry", since: "ends_at", forMs: blocklistRetentionMs },
  { table: "braking", since: "ended_at", forMs: alertRetentionMs },
  { table: "braking_hold", since: "until", forMs: alertRetentionMs },
  { table: "tested_payment", since: "tested_at", forMs: 2 * day },
  { table: "tested_cards", since: "starts_at", forMs: testedCardsRetentionMs },
  { table: "audit_entry", since: "created_at", forMs: auditRetentionMs },
  { table: "analytics_payment", since: "starts_at", forMs: countsRetentionMs },
  { table: "analytics_attempt", since: "starts_at", forMs: countsRetentionMs },
  { table: "analytics_decline", since: "starts_at", forMs: countsRetentionMs },
  { table: "analytics_card", since: "starts_at", forMs: countsRetentionMs },
  { table: "analytics_renewal", since: "starts_at", forMs: countsRetentionMs },
  { table: "analytics_wallet", since: "starts_at", forMs: countsRetentionMs },
  { table: "analytics_authentication", since: "starts_at", forMs: countsRetentionMs },
  { table: "analytics_arm", since: "starts_at", forMs: countsRetentionMs },
  { table: "analytics_arm_cost", since: "starts_at", forMs: countsRetentionMs },
  { table: "analytics_cost", since: "month", forMs: countsRetentionMs },
];

// The clock is a subselect, so an index over the column has a bound.
const sweeps = kept.map(({ table, since, forMs, only = "true" }): { statement: Statement; forMs: number } => ({
  forMs,
  statement: {
    name: `sweep_${table}`,
    text: `
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE ${since} < (SELECT app.clock()) - $1 * interval '1 ms' AND ${only}
        LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1 AS removed`,
  },
}));

const deleteMessages: Statement = {
  name: "delete_bank_messages",
  text: "SELECT 1 AS removed FROM app.remove_bank_messages($1, $2)",
};
const deleteOrphans: Statement = {
  name: "sweep_orphaned_authorization",
  text: "SELECT 1 AS removed FROM app.remove_old_orphans($1, $2)",
};

// Declined tries of stored cards: longer than the networks' limits count them.
const cardDeclinesKeptMs = 40 * day;
const deleteCardDeclines: Statement = {
  name: "sweep_card_decline",
  text: "SELECT 1 AS removed FROM app.remove_old_card_declines($1, $2)",
};

// Files and explanations: banks may come back to a dispute for some weeks.
const disputeContentKeptMs = 90 * day;
const removeDisputeContent: Statement = {
  name: "sweep_dispute_file",
  text: "SELECT 1 AS removed FROM app.remove_dispute_content($1, $2)",
};

// A session is submitted within a day of its creation, and then counts for a day; its id begins with the time of creation.
const cardCountsKeptMs = 2 * day;
const deleteCardCounts: Statement = {
  name: "sweep_card_submission",
  text: `
    DELETE FROM card_submission WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM card_submission s
      WHERE (nth > 1 OR NOT EXISTS (SELECT FROM card_submission o WHERE o.fingerprint = s.fingerprint AND o.nth > 1)) AND session_id < (SELECT app.first_id_at(app.clock() - $1 * interval '1 ms'))
      LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1 AS removed`,
};

// The first row of a card stays while the card has others, and is the row that claims lock.
const forgetNetworks: Statement = {
  name: "forget_networks_of_cards",
  text: `
    UPDATE card_submission SET network = NULL WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM card_submission
      WHERE network IS NOT NULL AND session_id < (SELECT app.first_id_at(app.clock() - $1 * interval '1 ms'))
      LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1 AS removed`,
};

/** Runs one turn. Returns true when there is more to remove. Durable on return. */
export async function sweepOldRowsOnce(database: Database): Promise<boolean> {
  let isMore = false;
  const all = [
    ...sweeps,
    // Messages are kept as long as the customer's page can be read.
    { statement: deleteMessages, forMs: clientSecretReadMs },
    { statement: deleteOrphans, forMs: orphanedAuthorizationRetentionMs },
    { statement: deleteCardDeclines, forMs: cardDeclinesKeptMs },
    { statement: removeDisputeContent, forMs: disputeContentKeptMs },
    { statement: deleteCardCounts, forMs: cardCountsKeptMs },
    { statement: forgetNetworks, forMs: cardCountsKeptMs },
  ];
  for (const { statement, forMs } of all) {
    const removed = await database.query(statement, [forMs, retentionSweepRows]);
    isMore ||= removed.length === retentionSweepRows;
  }
  return isMore;
}
