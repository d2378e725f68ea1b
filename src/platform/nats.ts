/** A lasting connection to NATS that never blocks: the service starts, works and stops without it too. */
import { type ConnectionOptions, connect, ErrorCode, Events, type NatsConnection, NatsError } from "nats";
import type { Logger } from "./log.ts";
import { runLoop } from "./loop.ts";

/** A connection to NATS that opens, breaks and reconnects by itself. */
export type NatsLink = {
  /** Returns the connection, which reconnects by itself. Throws while it is broken, and until the first one is open. */
  connection(): NatsConnection;
  readonly connected: Promise<void>;
  close(): Promise<void>;
};

/** Paths of PEM files, read anew for every connection: a renewed certificate is used from the next one on. */
type NatsTls = {
  readonly caFile: string;
  /** The client's certificate, if the servers require one. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
};

/** The login of an account. `servers` are addresses separated by commas. */
export type NatsLogin = {
  readonly servers: string;
  readonly user: string;
  readonly pass: string;
  /** If set, neither the password nor anything else is sent to a server that offers no TLS. */
  readonly tls?: NatsTls | undefined;
};

// Soon enough to reconnect right after an outage of NATS, and seldom enough to log each failure.
const firstConnectEveryMs = 1_000;
// A server on the same network answers in milliseconds; a request without an answer is repeated by its loop.
const timeoutMs = 5_000;
// The client reconnects silently; a person who reads the log of an outage finds its reason at most this old.
const reasonEveryMs = 10_000;

const lasting: ConnectionOptions = {
  // By default the client gives up permanently after ten attempts.
  maxReconnectAttempts: -1,
  // A password that is being rotated on the server is refused only for a moment.
  ignoreAuthErrorAbort: true,
  reconnectTimeWait: 500,
  timeout: timeoutMs,
  // Detects a peer that vanished silently in at most 20 s (two pings without an answer).
  pingInterval: 10_000,
  maxPingOut: 2,
};

/**
 * Opens a link in the background. The client's own `waitOnFirstConnect` cannot be stopped while it waits, so a loop
 * makes the first connection, and also replaces a connection that was closed permanently.
 */
export function openNats(options: {
  login: NatsLogin;
  /** Shown in the server's list of clients. */
  name: string;
  log: Pick<Logger, "error">;
}): NatsLink {
  const { promise: connected, resolve: resolveConnected } = Promise.withResolvers<void>();
  let current: NatsConnection | undefined;
  let isUp = false;

  async function followState(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === Events.Disconnect) {
        isUp = false;
        reasons.wake();
      }
      if (type === Events.Reconnect) isUp = true;
    }
  }

  const loop = runLoop({
    name: "nats",
    intervalMs: firstConnectEveryMs,
    log: options.log,
    turn: async (closing) => {
      current = await enter(options.login, { ...lasting, name: options.name });
      isUp = true;
      resolveConnected();
      if (closing.aborted) await current.close();
      // This is not awaited: the list of states does not end with the connection.
      void followState(current);
      await current.closed();
      isUp = false;
      return false;
    },
  });

  const reasons = runLoop({
    name: "nats-reason",
    intervalMs: reasonEveryMs,
    log: options.log,
    turn: async () => {
      if (current === undefined || isUp) return false;
      // An error that keeps the client out affects this connection too, and the loop logs it.
      const probe = await enter(options.login, { reconnect: false, timeout: timeoutMs });
      await probe.close();
      return false;
    },
  });

  return {
    connected,
    connection: () => {
      // Without this check a request would wait in the client's buffer for its own timeout.
      if (current === undefined || !isUp) throw new Error("there is no connection to NATS");
      return current;
    },
    close: async () => {
      const closed = Promise.all([loop.close(), reasons.close()]);
      await current?.close();
      await closed;
    },
  };
}

/** Connects, over TLS if the login says so. Throws with a message that an operator can act on. */
export async function enter(
  { servers, user, pass, tls }: NatsLogin,
  options: Omit<ConnectionOptions, "servers" | "user" | "pass" | "tls">,
): Promise<NatsConnection> {
  const { caFile, certFile, keyFile } = tls ?? {};
  const files = { ...(caFile && { caFile }), ...(certFile && { certFile }), ...(keyFile && { keyFile }) };
  try {
    return await connect({ ...options, servers: servers.split(","), user, pass, ...(tls && { tls: files }) });
  } catch (error) {
    if (!(error instanceof NatsError) || error.code !== ErrorCode.ServerOptionNotAvailable) throw error;
    throw new Error(
      "NATS offers no TLS, but the settings require it, so nothing was sent. Give its servers certificates, or remove the CA file from the settings.",
      { cause: error },
    );
  }
}
