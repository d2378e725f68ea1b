/** Google's root keys: read from Google at most hourly while tokens arrive, with the last good copy in the database. */
import { createPublicKey, type KeyObject } from "node:crypto";
import type { Database, Statement } from "../../platform/database.ts";
import type { GatewayHttp } from "../../platform/outbound-http.ts";
import type { EnvironmentName } from "../../platform/signed-claims.ts";
import { membersOf, readBase64, readMoment, readObject } from "./token-parts.ts";

export type GoogleRoot = { readonly publicKey: KeyObject; readonly expiresAt: Date };

const folder = "https://payments.developers.google.com/paymentmethodtoken";
/** Constants: nothing that a caller or an operator writes chooses whose signature counts. */
const addresses: Readonly<Record<EnvironmentName, string>> = {
  test: `${folder}/test/keys.json`,
  live: `${folder}/keys.json`,
};

const refreshEveryMs = 3_600_000;
// The time between requests while Google does not answer: one minute.
const retryEveryMs = 60_000;
// A customer waits.
const timeoutMs = 3_000;
const bytesMax = 64 * 1024;

const readStatement: Statement = {
  name: "vault_read_wallet_roots",
  text: "SELECT body FROM wallet_root WHERE environment = $1",
};
const storeStatement: Statement = {
  name: "vault_store_wallet_roots",
  text: `INSERT INTO wallet_root (environment, body, fetched_at) VALUES ($1, $2, clock_timestamp())
    ON CONFLICT (environment) DO UPDATE SET body = excluded.body, fetched_at = excluded.fetched_at`,
};

/** Returns the roots for ECv2 in Google's own form; those that have expired are among them. */
export function readGoogleRoots(body: string): GoogleRoot[] {
  const { keys } = readObject(body) ?? {};
  if (!Array.isArray(keys)) return [];
  return keys.flatMap((key) => {
    const { protocolVersion, keyValue, keyExpiration } = membersOf(key) ?? {};
    const der = protocolVersion === "ECv2" ? readBase64(keyValue) : undefined;
    const expiresAt = readMoment(keyExpiration);
    if (der === undefined || expiresAt === undefined) return [];
    try {
      return [{ publicKey: createPublicKey({ key: der, format: "der", type: "spki" }), expiresAt }];
    } catch {
      return [];
    }
  });
}

/** The roots of one environment. */
export class GoogleRoots {
  readonly #database: Database;
  readonly #http: Pick<GatewayHttp, "send">;
  readonly #environment: EnvironmentName;
  #roots: readonly GoogleRoot[] | undefined;
  #dueAt = 0;
  #refreshing: Promise<void> | undefined;

  constructor(database: Database, http: Pick<GatewayHttp, "send">, environment: EnvironmentName) {
    this.#database = database;
    this.#http = http;
    this.#environment = environment;
  }

  /**
   * Returns the roots; those of an hour ago are read anew meanwhile. Only while none is valid, a customer waits for Google, and
   * then for the copy in the database. Throws if that does not answer.
   */
  async current(): Promise<readonly GoogleRoot[]> {
    if (Date.now() >= this.#dueAt) {
      this.#refreshing ??= this.#refresh().finally(() => {
        this.#refreshing = undefined;
      });
      if (this.#roots !== undefined && hasValid(this.#roots)) void this.#refreshing.catch(() => {});
      else await this.#refreshing;
    }
    return this.#roots ?? [];
  }

  async #refresh(): Promise<void> {
    const body = await this.#fetch();
    if (body !== undefined) {
      this.#roots = readGoogleRoots(body);
      this.#dueAt = Date.now() + refreshEveryMs;
      // The copy of an hour ago serves as well, and the next one is stored again.
      await this.#database.query(storeStatement, [this.#environment, body]).catch(() => {});
      return;
    }
    if (this.#roots === undefined) {
      const [stored] = await this.#database.query<{ body: string }>(readStatement, [this.#environment]);
      this.#roots = stored && readGoogleRoots(stored.body);
    }
    this.#dueAt = Date.now() + retryEveryMs;
  }

  /** Returns what Google serves if a root in it is valid. */
  async #fetch(): Promise<string | undefined> {
    const url = addresses[this.#environment];
    const reply = await this.#http.send({ method: "GET", url, headers: {}, timeoutMs });
    if (reply.type !== "answer" || reply.status !== 200 || reply.body.length > bytesMax) return undefined;
    const body = Buffer.from(reply.body).toString();
    return hasValid(readGoogleRoots(body)) ? body : undefined;
  }
}

function hasValid(roots: readonly GoogleRoot[]): boolean {
  return roots.some(({ expiresAt }) => expiresAt.getTime() > Date.now());
}
