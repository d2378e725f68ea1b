/** The messages between a test and the emulator of an external vault: over IPC, beside the vault's own API. */

export type VaultOperation = "session" | "confirm" | "read" | "proxy";

/** `before`: nothing was done. `after`: everything was done, but its answer fails. */
export type VaultFault = {
  readonly operation: VaultOperation;
  readonly moment: "before" | "after";
  /** Cut the connection, never answer, or answer like this. */
  readonly effect: "cut" | "hang" | { readonly status: number; readonly body: unknown };
  /** This many calls; all of them when absent. */
  readonly times?: number;
};

/** The account under which the vault knows us, and its port; port 0 takes any. */
export type VaultEmulatorOptions = {
  readonly apiKey: string;
  readonly publishableKey: string;
  readonly profileId: string;
  readonly port: number;
};

/** A request as the proxy received it: with placeholders, and never with a card. */
export type ProxiedRequest = {
  readonly request_body: unknown;
  readonly destination_url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly token: string;
  readonly token_type: string;
};

export type VaultRecord = {
  readonly calls: Readonly<Record<VaultOperation, number>>;
  readonly sessions: readonly unknown[];
  readonly proxied: readonly ProxiedRequest[];
};
