/** One lasting connection to NATS that nobody has to wait for: the service starts, works and stops without it too. */
import { type ConnectionOptions, connect, ErrorCode, Events, type NatsConnection, NatsError } from "nats";
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

/** Paths of PEM files, read anew for every connection: a renewed certificate is in use from the next one on. */
export type NatsTls = {
  /** The authorities that the servers' certificates are from. */
  readonly caFile: string;
  /** What the client shows of itself, where the servers ask for it. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
};

/** How an account is entered. `servers` are addresses with commas between them. */
export type NatsLogin = {
  readonly servers: string;
  readonly user: string;
  readonly pass: string;
  /** With it a server that offers no TLS is given neither the password nor anything else. */
  readonly tls?: NatsTls | undefined;
};

// Soon enough that the outage of NATS ends for us when it ends, seldom enough to log each failure.
const firstConnectEveryMs = 1_000;
// A server on the same network answers in milliseconds; a request without an answer is repeated by its loop.
const timeoutMs = 5_000;
// The client mends a connection in silence; a person who looks at the log of an outage finds its reason this fresh.
const reasonEveryMs = 10_000;

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
      // Beside the wait: the list of states does not end with the connection.
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
      // What keeps the client out keeps this one out too, and the loop logs it.
      const probe = await enter(options.login, { reconnect: false, timeout: timeoutMs });
      await probe.close();
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
      const closed = Promise.all([loop.close(), reasons.close()]);
      await current?.close();
      await closed;
    },
  };
}

/** Connects, over TLS where the login says so. Throws in words what a person can act on. */
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
      "NATS offers no TLS, which the settings ask for: it was told nothing. Give its servers certificates, or take the CA file out of the settings.",
      { cause: error },
    );
  }
}
