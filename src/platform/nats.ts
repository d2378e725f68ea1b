/** One lasting connection to NATS that nobody has to wait for: the service starts, works and stops without it too. */
import { type ConnectionOptions, connect, Events, type NatsConnection } from "nats";
import type { Logger } from "./log.ts";
import { runLoop } from "./loop.ts";

/** A connection to NATS that comes, breaks and mends by itself. */
export type NatsLink = {
  /** The connection, which mends itself when it breaks. Throws while it is broken, and until the first one is there. */
  connection(): NatsConnection;
  /** Resolves when there is a connection for the first time. */
  readonly connected: Promise<void>;
  close(): Promise<void>;
};

// Soon enough that the outage of NATS ends for us when it ends, seldom enough to log each failure.
const firstConnectEveryMs = 1_000;
// A server on the same network answers in milliseconds; a request without an answer is repeated by its loop.
const timeoutMs = 5_000;

const lasting: ConnectionOptions = {
  // The default gives up after ten tries, and then for ever.
  maxReconnectAttempts: -1,
  // A password that is being rotated on the server is refused for a moment only.
  ignoreAuthErrorAbort: true,
  reconnectTimeWait: 500,
  timeout: timeoutMs,
  // Finds a peer that vanished without a word in at most 20 s (two pings without an answer).
  pingInterval: 10_000,
  maxPingOut: 2,
};

/**
 * Opens a link in the background. The client's own `waitOnFirstConnect` cannot be stopped while it waits, so the first
 * connection is made by a loop, which also replaces a connection that was closed for good.
 */
export function openNats(options: {
  /** `servers` are addresses with commas between them. */
  login: { readonly servers: string; readonly user: string; readonly pass: string };
  /** Shown in the server's list of clients. */
  name: string;
  log: Pick<Logger, "error">;
}): NatsLink {
  const { promise: connected, resolve: resolveConnected } = Promise.withResolvers<void>();
  let current: NatsConnection | undefined;
  let isUp = false;

  async function followState(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === Events.Disconnect) isUp = false;
      if (type === Events.Reconnect) isUp = true;
    }
  }

  const loop = runLoop({
    name: "nats",
    intervalMs: firstConnectEveryMs,
    log: options.log,
    turn: async (closing) => {
      current = await connect({
        ...lasting,
        ...options.login,
        servers: options.login.servers.split(","),
        name: options.name,
      });
      isUp = true;
      resolveConnected();
      if (closing.aborted) await current.close();
      // Beside the wait: the list of states does not end with the connection.
      void followState(current);
      await current.closed();
      isUp = false;
      return false;
    },
  });

  return {
    connected,
    connection: () => {
      // Without this a request would wait in the client's buffer for its own timeout.
      if (current === undefined || !isUp) throw new Error("there is no connection to NATS");
      return current;
    },
    close: async () => {
      const closed = loop.close();
      await current?.close();
      await closed;
    },
  };
}
