/** The vault's configuration. A plain object: only src/config/config.ts reads the process's environment. */
import type { WalletName } from "../platform/card-token.ts";
import type { Database } from "../platform/database.ts";
import type { Logger } from "../platform/log.ts";
import type { LoopObserver } from "../platform/loop.ts";
import type { RequestEnd, RequestMeter } from "../platform/request-meter.ts";
import type { KeyRing } from "../platform/secrets.ts";
import type { EnvironmentName, VerificationKey } from "../platform/signed-claims.ts";
import type { Tracing } from "../platform/telemetry.ts";
import type { TlsFiles } from "../platform/tls-files.ts";

export type ListenAddress = { readonly host: string; readonly port: number };

/** Observes cards and forwarded requests, without their content. No call may throw. */
export type VaultObserver = {
  /** The requests of the public port. */
  readonly requests: RequestMeter;
  tokenized(environment: EnvironmentName): void;
  /** Records a wallet's token that was read: `taken`, or the check that it failed. */
  walletToken(environment: EnvironmentName, wallet: WalletName, result: string): void;
  /** Records the end of a request with a card: the first digit of the gateway's status, or why there is none. */
  forwarded(environment: EnvironmentName, result: ForwardEnd, durationMs: number): void;
  readonly swept: LoopObserver;
};

export type ForwardEnd = RequestEnd | "never_sent" | "timed_out" | "no_answer" | "no_card" | "refused";

export type VaultConfig = {
  readonly publicListen: ListenAddress;
  /** The public port's origin for browsers. Absent: the address on which it listens. */
  readonly publicOrigin?: string | undefined;
  /** For the core only: keep it on a private network. */
  readonly grpcListen: ListenAddress;
  /** Certificates of the port for the core; without them it is not encrypted. */
  readonly grpcTls?: TlsFiles | undefined;
  /** Connected as a role that owns nothing. */
  readonly database: Database;
  readonly logger: Logger;
  /** Test, live or both. A live vault runs alone, outside the demo. */
  readonly environments: readonly VaultEnvironment[];
  /** Public keys of sdkAuthorization grants and frame policies; the edge has the private ones. */
  readonly grantKeys: readonly VerificationKey[];
  /** Public keys of service tokens; the core has the private ones. */
  readonly serviceTokenKeys: readonly VerificationKey[];
  /** Address ranges of the proxies in front of the public port, whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  /** The variable NODE_OPTIONS of this process: some options expose the memory. */
  readonly nodeOptions?: string | undefined;
  /** Metrics hooks; optional. */
  readonly observer?: VaultObserver | undefined;
  /** The tracing to which spans of forwarded requests are exported. */
  readonly tracing?: Tracing | undefined;
  /** Time for which a stopping vault still accepts calls, so that balancers see it leave; none if absent. */
  readonly shutdownGraceMs?: number | undefined;
  /** Documentation page of the error codes; the code is added as its fragment. */
  readonly errorsUrl: string;
};

/** Certificates in PEM that may sign tokens as Apple does, and root keys in Google's own form. */
type WalletTestRoots = { readonly apple: readonly string[]; readonly google: string };

export type VaultEnvironment = {
  readonly environment: EnvironmentName;
  /** Master keys; every card is sealed under a key derived from one of them and its token. */
  readonly ring: KeyRing;
  /** Keys that the edge has too: they seal the facts in tokens, and open no card. */
  readonly cardToken?: KeyRing | undefined;
  /** Keys of fingerprints of cards, which the vault alone has; without them a card has none. */
  readonly fingerprint?: KeyRing | undefined;
  /** Seals stored cards, besides their handles; without it the vault stores none. */
  readonly storeRing?: KeyRing | undefined;
  /** Seals the keys of wallets; without it the vault takes none. */
  readonly walletRing?: KeyRing | undefined;
  /** Roots of emulated wallets, which count in test; live does not start with any. */
  readonly walletTestRoots?: WalletTestRoots | undefined;
  /** The test cards whose payments count against card testing. Absent in live, where every card counts. */
  readonly countedCards?: ReadonlySet<string> | undefined;
  /** The only numbers accepted. Absent if real cards are expected. */
  readonly testCards?: ReadonlySet<string> | undefined;
  /** Hosts, with port, of emulators that replace gateways; without them, a sandbox gateway may run on loopback. */
  readonly sandboxHosts?: readonly string[];
};
