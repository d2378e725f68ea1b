import type { Database } from "../../platform/database.ts";

/** Sets `app.clock()` this many minutes ahead of the true time; requires the owner's connection. */
export async function setClockAhead(asOwner: Database, minutes: number): Promise<void> {
  await asOwner.pool.query(`CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT clock_timestamp() + interval ''${minutes} minutes'''`);
}
