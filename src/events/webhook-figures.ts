/** The figures of webhooks for metrics: four bounded statements, however many events there are. */
import type { Queryable, Statement } from "../platform/database.ts";

/**
 * The class of an endpoint, for its waiting deliveries: only at a healthy endpoint should a due delivery leave within
 * moments. `failing`: its breaker is open.
 */
type EndpointClass = "healthy" | "failing" | "paused" | "disabled" | "unverified";

export const endpointClasses: readonly EndpointClass[] = ["healthy", "failing", "paused", "disabled", "unverified"];

/** A backlog: the number of waiting rows and the age of the oldest in seconds; 0 when none waits. */
export type Backlog = { readonly waiting: number; readonly oldestSeconds: number };

export type WebhookFigures = {
  /**
   * Events that were delivered without their message and are not published; 10 000 means 10 000 or more. The age is of
   * the oldest among those due first.
   */
  readonly unpublished: Backlog;
  /** Events whose deliveries are not recorded; 10 000 means 10 000 or more. */
  readonly notFannedOut: Backlog;
  /** Events that an older transaction keeps from event streams (events/feed); 10 000 means 10 000 or more. */
  readonly unsettled: Backlog;
  readonly endpoints: Readonly<Record<EndpointClass, number>>;
  /** Due deliveries; an endpoint counts for at most 1000, so a dead one does not drown the rest. */
  readonly due: Readonly<Record<EndpointClass, Backlog>>;
};

// Reading this many rows takes some milliseconds; a higher number says nothing new.
const eventsMax = 10_000;
const deliveriesMax = 1_000;

const unpublished: Statement = {
  name: "measure_unpublished_events",
  text: `SELECT count(*)::int AS waiting, extract(epoch FROM app.clock() - min(created_at))::float8 AS "oldestSeconds"
         FROM (SELECT created_at FROM event_todo WHERE fanned_out ORDER BY due_at LIMIT ${eventsMax}) o`,
};
const notFannedOut: Statement = {
  name: "measure_events_to_fan_out",
  text: `SELECT count(*)::int AS waiting, extract(epoch FROM app.clock() - min(created_at))::float8 AS "oldestSeconds"
         FROM (SELECT created_at FROM event_todo WHERE NOT fanned_out ORDER BY due_at LIMIT ${eventsMax}) o`,
};
const unsettled: Statement = {
  name: "measure_unsettled_events",
  text: `SELECT count(*)::int AS waiting, extract(epoch FROM app.clock() - min(created_at))::float8 AS "oldestSeconds"
         FROM (SELECT created_at FROM outbox_event WHERE feed_position >= pg_snapshot_xmin(pg_current_snapshot())
               ORDER BY feed_position LIMIT ${eventsMax}) o`,
};
const due: Statement = {
  name: "measure_due_deliveries",
  text: `SELECT c.class, count(*)::int AS endpoints, sum(d.waiting)::int AS waiting, max(d.seconds) AS "oldestSeconds"
         FROM endpoint e
         CROSS JOIN LATERAL (SELECT CASE e.status WHEN 'PAUSED' THEN 'paused' WHEN 'DISABLED' THEN 'disabled'
           WHEN 'PENDING' THEN 'unverified' ELSE CASE WHEN e.probe_at IS NULL THEN 'healthy' ELSE 'failing' END
           END AS class) c
         CROSS JOIN LATERAL (
           SELECT count(*) AS waiting, extract(epoch FROM app.clock() - min(next_at))::float8 AS seconds FROM (
             SELECT next_at FROM delivery WHERE endpoint_id = e.id AND status = 'PENDING'
               AND next_at <= (SELECT app.clock()) ORDER BY next_at LIMIT ${deliveriesMax}) due
         ) d
         WHERE e.status <> 'REMOVED' GROUP BY c.class`,
};

type BacklogRow = { waiting: number; oldestSeconds: number | null };
type ClassRow = BacklogRow & { class: EndpointClass; endpoints: number };

/** Loads the current figures. Every class has its number, even when it is 0. */
export async function loadWebhookFigures(queryable: Queryable): Promise<WebhookFigures> {
  const [published] = await queryable.query<BacklogRow>(unpublished, []);
  const [fannedOut] = await queryable.query<BacklogRow>(notFannedOut, []);
  const [waiting] = await queryable.query<BacklogRow>(unsettled, []);
  const classes = await queryable.query<ClassRow>(due, []);
  const ofEach = <Value>(read: (row: ClassRow | undefined) => Value) =>
    Object.fromEntries(
      endpointClasses.map((name) => [name, read(classes.find((row) => row.class === name))]),
    ) as Record<EndpointClass, Value>;
  return {
    unpublished: backlogOf(published),
    notFannedOut: backlogOf(fannedOut),
    unsettled: backlogOf(waiting),
    endpoints: ofEach((row) => row?.endpoints ?? 0),
    due: ofEach(backlogOf),
  };
}

function backlogOf(row: BacklogRow | undefined): Backlog {
  return { waiting: row?.waiting ?? 0, oldestSeconds: Math.max(0, row?.oldestSeconds ?? 0) };
}
