/**
 * Switches the guards of payments off and on, for the demo's past and for tests. Only the owner of the tables may do
 * so.
 */

/**
 * Returns the SQL that switches every guard of sessions, attempts, authentications and payments with stored cards, in each partition. Within a transaction, it is for
 * that transaction alone.
 */
export function switchGuards(to: "DISABLE" | "ENABLE"): string {
  return `DO $$ BEGIN EXECUTE (
    SELECT string_agg(format('ALTER TABLE %s ${to} TRIGGER USER', part.relid::regclass), '; ')
    FROM unnest(ARRAY['payment_session', 'attempt', 'authentication', 'stored_payment']::regclass[]) AS whole, pg_partition_tree(whole) AS part); END $$`;
}
