/** The rows of a run's session as they stand, read past all code of the product. */
import type { QueryResult } from "pg";

/** What the checks look at in an attempt. */
export type ObservedAttempt = {
  readonly id: string;
  readonly sequence: number;
  readonly gateway: string;
  readonly status: string;
  readonly failure_kind: string | null;
  readonly stop: string | null;
  readonly amount_minor: number;
  readonly capture_started_at: string | null;
  readonly started_at: string;
  readonly completed_at: string | null;
  readonly void_kind: string | null;
};

/** What the checks look at in a session. */
export type ObservedSession = {
  readonly id: string;
  readonly status: string;
  readonly phase: string;
  readonly lease_epoch: number;
  readonly lease_until: string | null;
  readonly amount_minor: number;
  readonly winner_attempt_id: string | null;
  readonly captured_via: string | null;
  readonly expires_at: string;
  readonly submit_deadline: string | null;
  readonly submitted_at: string | null;
};

/** What the checks look at in an event. */
export type ObservedEvent = { readonly type: string; readonly sequence: number };

/** One moment of a session. */
export type Observed = {
  readonly session: ObservedSession;
  readonly attempts: readonly ObservedAttempt[];
  readonly events: readonly ObservedEvent[];
  /** When the next void of a stray hold is due; null while there is none. */
  readonly strayDueAt: string | null;
};

/** Reads the session with this id. */
export function observedQuery(sessionId: string) {
  return {
    name: "observe",
    text: `
      SELECT to_json(s) AS session,
        coalesce((SELECT json_agg(a ORDER BY a.sequence) FROM attempt a WHERE a.session_id = s.id), '[]') AS attempts,
        coalesce((SELECT json_agg(json_build_object('type', e.type, 'sequence', e.sequence) ORDER BY e.sequence)
                  FROM outbox_event e WHERE e.session_id = s.id), '[]') AS events,
        (SELECT to_json(min(h.next_try_at)) FROM stray_hold h WHERE h.session_id = s.id AND h.ended_at IS NULL) AS "strayDueAt"
      FROM payment_session s WHERE s.id = $1`,
    values: [sessionId],
  };
}

/** The moment that the statement above has read. */
export function observedOf({ rows }: QueryResult): Observed {
  return rows[0] as Observed;
}

/** One line for the history. */
export function describeObserved({ session, attempts, events }: Observed): string {
  const trail = attempts.map((attempt) => {
    const ordered = attempt.capture_started_at === null ? "" : " capture ordered";
    return `${attempt.sequence} ${attempt.gateway} ${attempt.status}${ordered}`;
  });
  const told = events.length > 0 ? `; told: ${events.map(({ type }) => type).join(", ")}` : "";
  return `= ${session.status} ${session.phase}, epoch ${session.lease_epoch} [${trail.join(", ")}]${told}`;
}
