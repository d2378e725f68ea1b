/** Alarms a person about disputes that are open and of which nothing has been heard for too long. */
import type { Core } from "../core/core.ts";
import { openWorkItem } from "../core/record/work-items.ts";
import { silentSql } from "../disputes/decide-dispute.ts";
import type { Statement } from "../platform/database.ts";
import { type AttemptId, type DisputeId, encodeId, type SessionId } from "../platform/ids.ts";

const isAbout =
  "w.session_id = d.session_id AND w.kind = 'DISPUTE_SILENT' AND strpos(w.detail, left(d.gateway_reference, 100)) > 0";

const batch = 100;

// The row is opened once for each silence: only news ends it, so a row that a person has closed stays closed.
const selectSilent: Statement = {
  name: "select_silent_disputes",
  text: `
    SELECT d.session_id AS "sessionId", d.attempt_id AS "attemptId", d.id, d.gateway, d.gateway_reference AS "gatewayReference", d.status,
      d.updated_at AS "updatedAt"
    FROM dispute d
    WHERE ${silentSql} AND NOT EXISTS (SELECT FROM work_item w WHERE ${isAbout} AND w.opened_at > d.updated_at)
    ORDER BY d.updated_at LIMIT ${batch}`,
};
const resolveHeard: Statement = {
  name: "resolve_silent_disputes",
  text: `
    UPDATE work_item w SET resolved_at = app.clock()
    WHERE w.kind = 'DISPUTE_SILENT' AND w.resolved_at IS NULL AND NOT EXISTS (SELECT FROM dispute d WHERE ${isAbout} AND ${silentSql})`,
};

type Silent = {
  readonly sessionId: SessionId;
  readonly attemptId: AttemptId;
  readonly id: DisputeId;
  readonly gateway: string;
  readonly gatewayReference: string;
  readonly status: string;
  readonly updatedAt: Date;
};

export async function alarmSilentDisputesOnce(core: Core): Promise<void> {
  await core.database.query(resolveHeard, []);
  for (const found of await core.database.query<Silent>(selectSilent, [])) {
    const { sessionId, attemptId, id, gateway, gatewayReference, status, updatedAt } = found;
    const since = updatedAt.toISOString().slice(0, 10);
    const detail = `${gateway} has reported nothing about the dispute ${gatewayReference.slice(0, 100)} since ${since}; it is ${status} here. Look it up there; an owner can record its end.`;
    await openWorkItem(core.database, core, {
      kind: "DISPUTE_SILENT",
      sessionId,
      attemptId,
      rule: encodeId("dsp", id),
      detail,
    });
  }
}
