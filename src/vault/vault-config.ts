/** What the vault is told when it starts. A plain object: only src/config.ts reads the process's environment. */
import type { Database } from "../platform/database.ts";
import type { Logger } from "../platform/log.ts";
import type { LoopWatch } from "../platform/loop.ts";
import type { RequestEnd, RequestMeter } from "../platform/request-meter.ts";
import type { KeyRing } from "../platform/secrets.ts";
import type { EnvironmentName, VerificationKey } from "../platform/service-token.ts";
import type { Tracing } from "../platform/telemetry.ts";
import type { TlsFiles } from "../platform/tls-files.ts";

/** Where a server listens. Port 0 takes a free one. */
export type ListenAddress = { readonly host: string; readonly port: number };

/** Told of cards and forwarded requests, and of nothing in them. No call may throw. */
export type VaultWatch = {
  /** Of the public port. */
  readonly requests: RequestMeter;
  /** A card has become a token. */
  tokenized(environment: EnvironmentName): void;
  /** A request with a card has its end: by the first digit of the gateway's status, or why there is none. */
  forwarded(environment: EnvironmentName, result: ForwardEnd, durationMs: number): void;
  /** The sweeper has had a turn. */
  readonly swept: LoopWatch;
};

/** How a forwarded request ended. */
export type ForwardEnd = RequestEnd | "never_sent" | "timed_out" | "no_answer" | "no_card" | "refused";

/** Where the vault listens, which keys it has, and whom it serves. */
export type VaultConfig = {
  readonly publicListen: ListenAddress;
  /** The origin browsers know the public port by. Absent: the address it listens on. */
  readonly publicOrigin?: string | undefined;
  /** For the core only: keep it on a private network. */
  readonly grpcListen: ListenAddress;
  /** Certificates of the port for the core; without them it is in the clear. */
  readonly grpcTls?: TlsFiles | undefined;
  /** Connected as a role that owns nothing. */
  readonly database: Database;
  readonly logger: Logger;
  /** One or both. A live vault runs alone, outside the demo. */
  readonly environments: readonly VaultEnvironment[];
  /** Public keys of sdkAuthorization grants and frame policies; the edge holds the private ones. */
  readonly grantKeys: readonly VerificationKey[];
  /** Public keys of service tokens; the core holds the private ones. */
  readonly serviceTokenKeys: readonly VerificationKey[];
  /** Ranges of addresses of the proxies in front of the public port, whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** Hosts, with port, where a sandbox gateway may run besides loopback. */
  readonly sandboxHosts: readonly string[];
  /** The variable NODE_OPTIONS of this process: some of what it can say opens the memory. */
  readonly nodeOptions?: string | undefined;
  /** Told of what is counted; without it nobody counts. */
  readonly watch?: VaultWatch | undefined;
  /** Where the spans of forwarded requests go. */
  readonly tracing?: Tracing | undefined;
  /** How long a stopping vault still takes calls, so that balancers see it leave; not at all where it is not given. */
  readonly drainNoticeMs?: number | undefined;
  /** Documentation page of the error codes; the code is added as its fragment. */
  readonly errorsUrl: string;
};

/** What differs between test and live. */
export type VaultEnvironment = {
  readonly environment: EnvironmentName;
  /** Master keys; every card is sealed under a key derived from one of them and its token. */
  readonly ring: KeyRing;
  /** The only numbers taken. Absent in live, where a real card is expected. */
  readonly testCards?: ReadonlySet<string> | undefined;
};
