/** Checks that outbox signals arrive at the address used for listening: past a pooler, and in the same database. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Pool } from "pg";
import { examinationTimeoutMs, type Finding, ok, problem } from "./finding.ts";

/** Listens through `direct`, as a worker does, and sends through `pooled`, as every process does. */
export async function examineNotifications(
  { area, variable }: { readonly area: string; readonly variable: string },
  { direct, pooled }: { readonly direct: Pool; readonly pooled: Pool },
  waitMs = examinationTimeoutMs,
): Promise<Finding> {
  const mark = randomUUID();
  const { promise: arrived, resolve } = Promise.withResolvers<true>();
  const waited = new AbortController();
  const client = await direct.connect();
  try {
    client.on("notification", ({ payload }) => payload === mark && resolve(true));
    await client.query("LISTEN switchyard_doctor");
    await pooled.query("SELECT pg_notify('switchyard_doctor', $1)", [mark]);
    const late = pause(waitMs, false, { signal: waited.signal });
    late.catch(() => {});
    if (await Promise.race([arrived, late])) return ok(area, "receives notifications of other connections (LISTEN)");
    const remedy = `set ${variable} to the address of PostgreSQL itself, not of the pooler, and to the same database`;
    return problem(
      area,
      "does not receive notifications of other connections (LISTEN): workers find new events late",
      remedy,
    );
  } finally {
    waited.abort();
    // It still listens, so it is closed instead of returned to the pool.
    client.release(true);
  }
}
