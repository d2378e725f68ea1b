/** What a test asks of the stand-in of an external vault, and what it hears of it: over IPC, beside the vault's own API. */

/** The calls of the vault that a test can disturb and count. */
export type VaultOperation = "session" | "confirm" | "read" | "proxy";

/** `before`: nothing was done. `after`: all was done, but its answer goes wrong. */
export type VaultFault = {
  readonly operation: VaultOperation;
  readonly moment: "before" | "after";
  /** Cut the connection, never answer, or answer like this. */
  readonly effect: "cut" | "hang" | { readonly status: number; readonly body: unknown };
  /** This many calls; all of them when absent. */
  readonly times?: number;
};

/** How the vault knows us, and where it listens; port 0 takes any. */
export type VaultStandInOptions = {
  readonly apiKey: string;
  readonly publishableKey: string;
  readonly profileId: string;
  readonly port: number;
};

/** A request that the proxy was sent, as it came: with placeholders, and never with a card. */
export type ProxiedRequest = {
  readonly request_body: unknown;
  readonly destination_url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly token: string;
  readonly token_type: string;
};

/** All that a test may know afterwards. */
export type VaultRecord = {
  readonly calls: Readonly<Record<VaultOperation, number>>;
  /** Bodies of calls that opened a session. */
  readonly sessions: readonly unknown[];
  readonly proxied: readonly ProxiedRequest[];
};
