/** How webhooks stand, in numbers: three bounded statements however many events there are and however long one endpoint is dead. */
import type { Queryable, Statement } from "../platform/database.ts";

/** What an endpoint's state means for what waits there: only at a healthy one something due should be gone in a moment. */
export type EndpointClass = "healthy" | "failing" | "paused" | "disabled" | "unverified";

/** Every class that there is. */
export const endpointClasses: readonly EndpointClass[] = ["healthy", "failing", "paused", "disabled", "unverified"];

/** Something that waits: how much, and for how long the oldest has; 0 when nothing does. */
export type Backlog = { readonly waiting: number; readonly oldestSeconds: number };

/** The figures of one environment. */
export type WebhookFigures = {
  /** Events that JetStream has not taken. 10 000 stands for more; the oldest is that of those whose turn comes first. */
  readonly unpublished: Backlog;
  /** Events without their deliveries; 10 000 stands for more. */
  readonly notFannedOut: Backlog;
  readonly endpoints: Readonly<Record<EndpointClass, number>>;
  /** Deliveries whose time has come; an endpoint counts for 1000 at most, so that a dead one does not drown the rest. */
  readonly due: Readonly<Record<EndpointClass, Backlog>>;
};

// Reading this many rows takes some milliseconds; with more the number says nothing new.
const eventsMax = 10_000;
const deliveriesMax = 1_000;

const unpublished: Statement = {
  name: "measure_unpublished_events",
  text: `SELECT count(*)::int AS waiting, extract(epoch FROM app.clock() - min(created_at))::float8 AS "oldestSeconds"
         FROM (SELECT created_at FROM outbox_event WHERE published_at IS NULL ORDER BY publish_at LIMIT ${eventsMax}) o`,
};
const notFannedOut: Statement = {
  name: "measure_events_to_fan_out",
  text: `SELECT count(*)::int AS waiting, extract(epoch FROM app.clock() - min(created_at))::float8 AS "oldestSeconds"
         FROM (SELECT created_at FROM outbox_event WHERE fanned_out_at IS NULL ORDER BY created_at LIMIT ${eventsMax}) o`,
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

/** The figures as they stand; every class has its number, also when it is 0. */
export async function loadWebhookFigures(queryable: Queryable): Promise<WebhookFigures> {
  const [published] = await queryable.query<BacklogRow>(unpublished, []);
  const [fannedOut] = await queryable.query<BacklogRow>(notFannedOut, []);
  const classes = await queryable.query<ClassRow>(due, []);
  const ofEach = <Value>(read: (row: ClassRow | undefined) => Value) =>
    Object.fromEntries(
      endpointClasses.map((name) => [name, read(classes.find((row) => row.class === name))]),
    ) as Record<EndpointClass, Value>;
  return {
    unpublished: backlogOf(published),
    notFannedOut: backlogOf(fannedOut),
    endpoints: ofEach((row) => row?.endpoints ?? 0),
    due: ofEach(backlogOf),
  };
}

function backlogOf(row: BacklogRow | undefined): Backlog {
  return { waiting: row?.waiting ?? 0, oldestSeconds: Math.max(0, row?.oldestSeconds ?? 0) };
}
