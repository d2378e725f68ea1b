/** Tells relays in other processes that an outbox row waits. Only haste: a notice may be lost, the relay looks by itself. */
import type { Pool } from "pg";
import type { Database, Statement } from "../platform/database.ts";

const notifyOutbox: Statement = { name: "notify_outbox", text: "SELECT pg_notify('outbox_event', '')" };

/**
 * Sends a notice; for `OutboxContext.hintRelay` in a process that runs no relay. It goes out after the commit on its own,
 * because a transaction that notifies holds a lock of the whole server while it commits.
 */
export function notifyOutboxListeners(database: Database): void {
  // Whatever stops a notice is seen by the next real statement.
  database.query(notifyOutbox, []).catch(() => {});
}

/**
 * Calls `onNotice` for each notice, over one connection of `Database.sessions` that it keeps, until the signal closes it.
 * Rejects when the connection breaks; platform/loop then runs it again.
 */
export async function listenForOutbox(options: {
  sessions: Pick<Pool, "connect">;
  onNotice: () => void;
  closing: AbortSignal;
}): Promise<boolean> {
  const client = await options.sessions.connect();
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  // Whoever leaves before waiting for it leaves by the same error.
  ended.catch(() => {});
  try {
    client.on("notification", options.onNotice);
    client.on("error", reject);
    client.on("end", resolve);
    options.closing.addEventListener("abort", () => resolve());
    await client.query("LISTEN outbox_event");
    // Rows from the time before it listened.
    options.onNotice();
    if (!options.closing.aborted) await ended;
    return false;
  } finally {
    // It still listens, so it is closed, not given back.
    client.release(true);
  }
}
