/**
 * Creates a session as a peer does: the same work as the product's, written by hand for this one call, on `pg` and
 * node's own cryptography. The formats (ids, sealing) are the product's.
 */
import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { Pool } from "pg";
import { v7 } from "uuid";
import { databaseConnectionsMax, idempotencyLifetimeMs } from "../../../limits.ts";
import { encodeId } from "../../../platform/ids.ts";
import { hmacSha256, type KeyRing, seal, sha256, unseal } from "../../../platform/secrets.ts";
import { insertSession, type SessionRow, selectKey, selectSession } from "./statements.ts";

export type PeerOptions = { readonly databaseUrl: string; readonly keysFile: string; readonly vaultOrigin: string };

export type Merchant = {
  readonly kind: string;
  readonly merchantId: string;
  readonly sessionLifetimeMs: number;
  readonly checkoutOrigins: readonly string[];
  readonly publishableKey: string;
};

export type Order = {
  readonly amountMinor: number;
  readonly currency: string;
  readonly orderRef: string;
  readonly customerEmail?: string;
};

/** The answer as REST shows it, except for the format of its time. */
export type PeerSession = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly expiresAt: Date;
  readonly vault: Readonly<Record<string, string>>;
  readonly orderRef: string;
  readonly amountMinor: number;
  readonly currency: string;
};

const graceMs = 60_000;
const serviceOrigin = "http://127.0.0.1";
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Sessions in one database, under the keys of one installation. */
export class HandWrittenSessions {
  readonly #pool: Pool;
  readonly #vaultOrigin: string;
  readonly #secretVersion: number;
  readonly #secretKey: Buffer;
  readonly #sealing: KeyRing;
  readonly #signingKey: KeyObject;
  readonly #grantHeader: string;
  readonly #policyHeader: string;

  constructor({ databaseUrl, keysFile, vaultOrigin }: PeerOptions) {
    const file = JSON.parse(readFileSync(keysFile, "utf8"));
    this.#pool = new Pool({ connectionString: databaseUrl, max: databaseConnectionsMax });
    this.#vaultOrigin = vaultOrigin;
    this.#secretVersion = file.clientSecret.current;
    this.#secretKey = Buffer.from(file.clientSecret.keys[this.#secretVersion], "base64");
    const sealing = Object.entries<string>(file.sealing.keys).map(([kid, key]) => [kid, Buffer.from(key, "base64")]);
    this.#sealing = { current: file.sealing.current, keys: Object.fromEntries(sealing) };
    this.#signingKey = createPrivateKey(file.signing.privateKey);
    const headerOf = (typ: string) => base64url({ alg: "EdDSA", kid: file.signing.kid, typ });
    this.#grantHeader = headerOf("vault-grant+jwt");
    this.#policyHeader = headerOf("vault-policy+jwt");
  }

  async findMerchant(authorization: string | undefined): Promise<Merchant | undefined> {
    const key = /^bearer (switchyard_test_sk_([0-9A-Za-z]{32})([0-9A-Za-z]{6}))$/i.exec(authorization ?? "");
    if (key === null || checksumOf(key[2]!) !== key[3]) return undefined;
    const { rows } = await this.#pool.query<Merchant>({ ...selectKey, values: [sha256(key[1]!)] });
    return rows[0]?.kind === "secret" ? rows[0] : undefined;
  }

  /** Returns the session of a key, created now or earlier; undefined if the key was used with another order. */
  async create(merchant: Merchant, order: Order, idempotencyKey: string): Promise<PeerSession | undefined> {
    const id = v7();
    const vault = this.#describeVault(merchant, encodeId("ps", id));
    const { amountMinor, currency, orderRef, customerEmail = null } = order;
    const hash = sha256(JSON.stringify([amountMinor, currency, orderRef, customerEmail]));
    const sealed = seal(this.#sealing, `idempotency/${id}`, JSON.stringify(vault));
    const inserted = await this.#pool.query<SessionRow>({
      ...insertSession,
      values: [
        ...[id, merchant.merchantId, amountMinor, currency, orderRef, customerEmail, this.#secretVersion],
        ...[merchant.sessionLifetimeMs, idempotencyKey, hash, sealed, idempotencyLifetimeMs],
      ],
    });
    if (inserted.rows[0] !== undefined) return this.#answer(inserted.rows[0], order, vault);
    const { rows } = await this.#pool.query<SessionRow & { requestHash: Buffer; answerSealed: string }>({
      ...selectSession,
      values: [merchant.merchantId, idempotencyKey],
    });
    const first = rows[0];
    if (first === undefined || !hash.equals(first.requestHash)) return undefined;
    const text = unseal(this.#sealing, `idempotency/${first.id}`, first.answerSealed).expose();
    return this.#answer(first, order, JSON.parse(text));
  }

  #answer(row: SessionRow, { amountMinor, currency, orderRef }: Order, vault: PeerSession["vault"]): PeerSession {
    const sessionId = encodeId("ps", row.id);
    const mac = hmacSha256(this.#secretKey, sessionId).toString("base64url");
    const clientSecret = `${sessionId}_secret_t${row.secretVersion}_${mac}`;
    return { sessionId, clientSecret, expiresAt: row.expiresAt, vault, orderRef, amountMinor, currency };
  }

  #describeVault(merchant: Merchant, session: string): PeerSession["vault"] {
    const profile = encodeId("mer", merchant.merchantId);
    const origins = merchant.checkoutOrigins;
    const exp = Math.floor((Date.now() + merchant.sessionLifetimeMs + graceMs) / 1_000);
    return {
      mode: "self_hosted",
      publishableKey: merchant.publishableKey,
      profileId: profile,
      sdkAuthorization: this.#sign(this.#grantHeader, { session, profile, origins, environment: "test", exp }),
      sdkUrl: `${this.#vaultOrigin}/sdk.js`,
      framePolicy: this.#sign(this.#policyHeader, { origins, service: serviceOrigin, environment: "test", exp }),
    };
  }

  #sign(header: string, claims: object): string {
    const signed = `${header}.${base64url(claims)}`;
    return `${signed}.${sign(null, Buffer.from(signed), this.#signingKey).toString("base64url")}`;
  }
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function checksumOf(random: string): string {
  let value = crc32(random);
  let text = "";
  for (let digit = 0; digit < 6; digit++) {
    text = base62[value % 62] + text;
    value = Math.floor(value / 62);
  }
  return text;
}
