/** Test fixture: a whole vault with real ports, its own database, keys for both environments, and their signers. */
import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { Pool } from "pg";
import { VaultClient } from "../card-vault/own/vault-rpc.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { createStrictLog } from "../dev/testing/strict-log.ts";
import { Database } from "../platform/database.ts";
import type { Secret } from "../platform/secrets.ts";
import {
  createServiceTokens,
  type SigningKey,
  signFramePolicy,
  signSessionGrant,
} from "../platform/service-token-signing.ts";
import type { EnvironmentName } from "../platform/signed-claims.ts";
import type { WalletOrder } from "../platform/wallets.ts";
import type { CallCounts } from "./call-counts.ts";
import { startVault, type Vault } from "./main.ts";
import type { VaultConfig, VaultEnvironment } from "./vault-config.ts";

/** A card for the test environment; the one below it is no test card. */
export const testCard = { number: "4242424242424242", expMonth: 4, expYear: 2031, cvc: "123", holder: "Ada Lovelace" };
export const coBadgedCard = { ...testCard, number: "4000002500001001" };
export const liveCard = { number: "5555555555554444", expMonth: 4, expYear: 2031, cvc: "123" };

/** A running vault with everything that a test needs to call it. */
export type VaultFixture = {
  readonly vault: Vault;
  readonly config: VaultConfig;
  readonly database: Database;
  readonly signing: Readonly<Record<EnvironmentName, SigningKey>>;
  grant(
    session: string,
    change?: {
      environment?: EnvironmentName;
      profile?: string;
      origins?: readonly string[];
      expiresAt?: Date;
      order?: WalletOrder;
    },
  ): string;
  policy(
    origins: readonly string[],
    change?: { environment?: EnvironmentName; serviceOrigin?: string; expiresAt?: Date },
  ): string;
  serviceToken(environment?: EnvironmentName): string;
  /** Sends POST /tokens with the session's grant. */
  tokenize(session: string, body: unknown, change?: { grant?: string; headers?: HeadersInit }): Promise<Response>;
  /** Sends POST /security-codes with the session's grant. */
  addCode(session: string, body: unknown, change?: { grant?: string; headers?: HeadersInit }): Promise<Response>;
  /** Sends POST /wallet-tokens with the session's grant. */
  takeWallet(session: string, body: unknown, change?: { grant?: string; headers?: HeadersInit }): Promise<Response>;
  close(): Promise<void>;
};

export async function startVaultFixture(change: Partial<VaultConfig> = {}): Promise<VaultFixture> {
  const { url } = await createTestDatabase("vault");
  const pool = new Pool({ connectionString: url, max: 8, pipeline: true });
  const database = new Database(pool);
  const pairs = { test: keyPair("test"), live: keyPair("live") };
  const keys = [pairs.test.verification, pairs.live.verification];
  const config: VaultConfig = Object.freeze({
    publicListen: { host: "127.0.0.1", port: 0 },
    grpcListen: { host: "127.0.0.1", port: 0 },
    database,
    logger: createStrictLog(),
    environments: [environmentOf("test", new Set([testCard.number, coBadgedCard.number])), environmentOf("live")],
    grantKeys: keys,
    serviceTokenKeys: keys,
    trustedProxies: [],
    errorsUrl: "https://docs.example/errors",
    ...change,
  });
  const vault = await startVault(config);
  const signing = { test: pairs.test.signing, live: pairs.live.signing };
  const soon = () => new Date(Date.now() + 60_000);
  const grant: VaultFixture["grant"] = (
    session,
    { environment = "test", profile = "mer_1", origins = [], expiresAt = soon(), order } = {},
  ) => signSessionGrant(signing[environment], { session, profile, origins, expiresAt, order });
  const post =
    (path: string): VaultFixture["tokenize"] =>
    (session, body, options = {}) =>
      fetch(`${vault.origins.public}${path}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${options.grant ?? grant(session)}`,
          ...options.headers,
        },
        body: typeof body === "string" ? body : JSON.stringify(body),
      });
  return {
    vault,
    config,
    database,
    signing,
    grant,
    policy: (origins, { environment = "test", serviceOrigin = "https://pay.example", expiresAt = soon() } = {}) =>
      signFramePolicy(signing[environment], { origins, serviceOrigin, expiresAt }),
    serviceToken: (environment = "test") => createServiceTokens(signing[environment])(),
    tokenize: post("/tokens"),
    addCode: post("/security-codes"),
    takeWallet: post("/wallet-tokens"),
    async close() {
      await vault.close();
      await pool.end();
    },
  };
}

/** Returns a client of the vault for its test environment; close it. */
export function clientOf({ vault, signing }: VaultFixture): VaultClient {
  const address = new URL(vault.origins.grpc).host;
  return new VaultClient({ address, signing: signing.test, log: createStrictLog() });
}

/** A payment at this gateway, by default with the card's number alone. */
export const payment = (given: { token: Secret; sessionId: string; origin: string; body?: string }) => ({
  connector: "SANDBOX_A",
  operation: "authorize",
  pathVariables: {},
  headers: {},
  body: "card[number]={{card.number}}",
  timeoutMs: 5_000,
  ...given,
});

/** Returns counts that list what was counted, in `counted`. */
export function listingCounts() {
  const counted: string[] = [];
  const callCounts = {
    countCall: () => void counted.push("call"),
    charge: async () => void counted.push("merchant"),
  } as unknown as CallCounts;
  return { counted, callCounts };
}

export function environmentOf(environment: EnvironmentName, testCards?: ReadonlySet<string>): VaultEnvironment {
  const ring = () => ({ current: "1", keys: { 1: randomBytes(32) } });
  const rings = { ring: ring(), cardToken: ring(), fingerprint: ring(), storeRing: ring(), walletRing: ring() };
  return { environment, ...rings, testCards };
}

/** Returns an Ed25519 pair as both sides hold it. */
export function keyPair(environment: EnvironmentName): {
  signing: SigningKey;
  verification: { kid: string; environment: EnvironmentName; publicKey: KeyObject };
} {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const kid = `signing-${environment}-1`;
  return { signing: { kid, environment, privateKey }, verification: { kid, environment, publicKey } };
}
