/** Whether notices come through to an address that is there for them: past a pooler, and in the same database. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Pool } from "pg";
import { examinationTimeoutMs } from "../limits/doctor.ts";
import { type Finding, ok, problem } from "./finding.ts";

/** Listens by `direct`, as a worker does, and sends by `usual`, as everybody does. */
export async function examineNotices(
  { area, variable }: { readonly area: string; readonly variable: string },
  { direct, usual }: { readonly direct: Pool; readonly usual: Pool },
  waitMs = examinationTimeoutMs,
): Promise<Finding> {
  const mark = randomUUID();
  const { promise: arrived, resolve } = Promise.withResolvers<true>();
  const waited = new AbortController();
  const client = await direct.connect();
  try {
    client.on("notification", ({ payload }) => payload === mark && resolve(true));
    await client.query("LISTEN switchyard_doctor");
    await usual.query("SELECT pg_notify('switchyard_doctor', $1)", [mark]);
    const late = pause(waitMs, false, { signal: waited.signal });
    late.catch(() => {});
    if (await Promise.race([arrived, late])) return ok(area, "is told what others send (LISTEN)");
    const remedy = `set ${variable} to PostgreSQL's own address, past the pooler, and to the same database`;
    return problem(area, "is not told what others send (LISTEN): workers find new events late", remedy);
  } finally {
    waited.abort();
    // It still listens, so it is closed, not given back.
    client.release(true);
  }
}
