/** Looks for everything that is due at once, so that the loops that do it rest while there is nothing. */
import { testedNow } from "../core/card-testing/brake-merchants.ts";
import { overdueSessions } from "../core/expire-sessions.ts";
import { lapsedSessions } from "../core/record/lease.ts";
import { dueErasures, dueSavings } from "../core/stored-cards/keep-card.ts";
import { readyEndpoints } from "../events/delivery-pool.ts";
import { overdueEvents } from "../events/end-events.ts";
import { unpublishedEvents } from "../events/publish.ts";
import { waitingNotifications } from "../oversight/notifications/process-notifications.ts";
import { dueOrphans } from "../oversight/orphaned-authorizations.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { Loop } from "../platform/loop.ts";
import { dueRefunds } from "../refunds/refund-once.ts";

// The work of each loop, as a condition of its own statement.
const dueWork = {
  recover: lapsedSessions,
  expire: overdueSessions,
  notifications: waitingNotifications,
  orphans: dueOrphans,
  refunds: dueRefunds,
  brake: testedNow,
  "save-cards": dueSavings,
  "erase-cards": dueErasures,
  "event-republish": unpublishedEvents,
  "event-sweep": overdueEvents,
  deliveries: readyEndpoints,
} as const;

export type DueLoop = keyof typeof dueWork;

/** Longest rest of such a loop: it finds its work by itself where this look fails. */
export const dueLoopIdleMs = 10_000;

const names = Object.keys(dueWork) as DueLoop[];
const selectDue: Statement = {
  name: "select_due_work",
  text: `SELECT ${names.map((name) => `EXISTS (SELECT FROM ${dueWork[name]}) AS "${name}"`).join(", ")}`,
};

export async function wakeDue(
  database: Queryable,
  loops: Readonly<Record<DueLoop, Pick<Loop, "wake">>>,
): Promise<void> {
  const [due] = await database.query<Record<DueLoop, boolean>>(selectDue, []);
  for (const name of names) if (due?.[name]) loops[name].wake();
}
