/**
 * Outbox signals: wake relays in other processes when an outbox row waits. They only save time: a signal may be lost,
 * because the relay also looks by itself.
 */
import type { Pool } from "pg";
import type { Database, Statement } from "../platform/database.ts";

const notifyOutbox: Statement = { name: "notify_outbox", text: "SELECT pg_notify('outbox_event', '')" };

/**
 * Sends an outbox signal; for `OutboxContext.hintRelay` in a process that runs no relay. It is sent separately after
 * the commit, because a transaction with NOTIFY holds a lock of the whole server while it commits.
 */
export function notifyOutboxListeners(database: Database): void {
  // The next real statement reports whatever prevents a signal.
  database.query(notifyOutbox, []).catch(() => {});
}

/**
 * Calls `onSignal` for each outbox signal, over one connection of `Database.sessions` that it keeps until `closing`
 * fires. Rejects when the connection breaks; platform/loop then runs it again.
 */
export async function listenForOutbox(options: {
  sessions: Pick<Pool, "connect">;
  onSignal: () => void;
  closing: AbortSignal;
}): Promise<boolean> {
  const client = await options.sessions.connect();
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  // A return before the wait for it throws the same error.
  ended.catch(() => {});
  try {
    client.on("notification", options.onSignal);
    client.on("error", reject);
    client.on("end", resolve);
    options.closing.addEventListener("abort", () => resolve());
    await client.query("LISTEN outbox_event");
    // For rows from the time before it listened.
    options.onSignal();
    if (!options.closing.aborted) await ended;
    return false;
  } finally {
    // It still listens, so it is closed, not returned to the pool.
    client.release(true);
  }
}
