/**
 * The keys that decrypt wallets' tokens: made here, never shown, and sealed under the wallet ring. STAGED → ACTIVE →
 * RETIRING → DROPPED.
 */
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { v7 } from "uuid";
import type { WalletName } from "../../platform/card-token.ts";
import type { Database, Queryable, Statement, Tx } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import type { KeyRing } from "../../platform/secrets.ts";
import {
  findWalletSealingKeys,
  type SealedWalletKey,
  sealWalletKey,
  unsealWalletKey,
} from "../../platform/wallet-ring.ts";
import type { VaultEnvironment } from "../vault-config.ts";
import { retiringKeyDays } from "../vault-limits.ts";
import { makeSigningRequest, readAppleCertificate } from "./apple-certificate.ts";
import type { DecryptionKey } from "./token-parts.ts";

type WalletKeyState = "STAGED" | "ACTIVE" | "RETIRING" | "DROPPED";

/** A key without its private half. */
export type WalletKey = {
  readonly id: string;
  readonly wallet: WalletName;
  readonly state: WalletKeyState;
  /** Apple's merchant identifier, or Google's merchant id. */
  readonly recipient: string;
  /** DER of its SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
  readonly signingRequest: string | null;
  readonly createdAt: Date;
  readonly activatedAt: Date | null;
  readonly retiresAt: Date | null;
  readonly certificateEndsAt: Date | null;
};

const columns = `id, wallet, state, recipient, public_key AS "publicKey", signing_request AS "signingRequest",
  created_at AS "createdAt", activated_at AS "activatedAt", retires_at AS "retiresAt",
  certificate_ends_at AS "certificateEndsAt"`;

// A merchant's keys of a wallet change one by one.
const lockStatement: Statement = {
  name: "vault_lock_wallet_keys",
  text: "SELECT pg_advisory_xact_lock(hashtextextended('wallet keys ' || $1 || ' ' || $2, 0))",
};
const listStatement: Statement = {
  name: "vault_list_wallet_keys",
  text: `SELECT ${columns} FROM wallet_key WHERE environment = $1 AND merchant_id = $2 ORDER BY created_at DESC, slot`,
};
const slotsStatement: Statement = {
  name: "vault_wallet_key_slots",
  text: "SELECT slot, state FROM wallet_key WHERE environment = $1 AND merchant_id = $2 AND wallet = $3",
};
const clearSlotStatement: Statement = {
  name: "vault_clear_wallet_key_slot",
  text: `DELETE FROM wallet_key WHERE environment = $1 AND merchant_id = $2 AND wallet = $3 AND slot = $4 AND state = 'DROPPED'`,
};
const insertStatement: Statement = {
  name: "vault_insert_wallet_key",
  text: `INSERT INTO wallet_key (id, environment, merchant_id, wallet, slot, state, recipient, public_key, signing_request, sealed)
    VALUES ($1, $2, $3, $4, $5, 'STAGED', $6, $7, $8, $9) RETURNING ${columns}`,
};
const readStatement: Statement = {
  name: "vault_read_wallet_key",
  text: `SELECT ${columns} FROM wallet_key WHERE id = $1 AND environment = $2 AND merchant_id = $3`,
};
const retireStatement: Statement = {
  name: "vault_retire_wallet_key",
  text: `UPDATE wallet_key SET state = 'RETIRING', retires_at = clock_timestamp() + $4 * interval '1 day'
    WHERE environment = $1 AND merchant_id = $2 AND wallet = $3 AND state = 'ACTIVE'`,
};
const activateStatement: Statement = {
  name: "vault_activate_wallet_key",
  text: `UPDATE wallet_key SET state = 'ACTIVE', activated_at = coalesce(activated_at, clock_timestamp()), certificate = $2,
      certificate_ends_at = $3
    WHERE id = $1 AND state IN ('STAGED', 'ACTIVE') RETURNING ${columns}`,
};
const dropStatement: Statement = {
  name: "vault_drop_wallet_key",
  text: `UPDATE wallet_key SET state = 'DROPPED', sealed = NULL
    WHERE id = $1 AND environment = $2 AND merchant_id = $3 AND state <> 'DROPPED'`,
};
const usableStatement: Statement = {
  name: "vault_usable_wallet_keys",
  text: `SELECT id, merchant_id AS "merchantId", wallet, state, recipient, public_key AS "publicKey", sealed FROM wallet_key
    WHERE environment = $1 AND merchant_id = $2 AND wallet = $3
      AND (state = 'ACTIVE' OR state = 'RETIRING' AND retires_at > clock_timestamp())
    ORDER BY state`,
};
const anyStatement: Statement = {
  name: "vault_any_wallet_key",
  text: "SELECT true AS found FROM wallet_key WHERE state IN ('ACTIVE', 'RETIRING') LIMIT 1",
};

/** A merchant's wallet; merchants are given by their public ids. */
type MerchantWallet = { readonly merchantId: string; readonly wallet: WalletName };

const recipientShapes: Readonly<Record<WalletName, { readonly shape: RegExp; readonly rule: string }>> = {
  apple_pay: {
    shape: /^[A-Za-z0-9][A-Za-z0-9.-]{1,254}$/,
    rule: "an Apple merchant identifier, such as merchant.com.example",
  },
  google_pay: { shape: /^[A-Za-z0-9]{1,64}$/, rule: "a Google merchant id" },
};

// A key that stages, one that is active, and one that retires, or two of one kind.
const keysMax = 3;

/**
 * Makes a key. Throws `invalid_field` for a recipient of another form, `state_conflict` if the wallet has three keys that are
 * not dropped, and `wallet_unavailable` without a wallet ring.
 */
export async function createWalletKey(
  database: Database,
  vault: VaultEnvironment,
  { merchantId, wallet, recipient }: MerchantWallet & { readonly recipient: string },
): Promise<WalletKey> {
  const { environment } = vault;
  const ring = walletRingOf(vault);
  const { shape, rule } = recipientShapes[wallet];
  if (!shape.test(recipient)) throw new DomainError("invalid_field", `It must be ${rule}.`, { field: "recipient" });
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const id = v7();
  const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  const sealed = sealWalletKey(ring, environment, { id, merchantId, wallet }, pem);
  const spki = publicKey.export({ format: "der", type: "spki" });
  const request = wallet === "apple_pay" ? await makeSigningRequest(privateKey, publicKey, recipient) : null;
  return database.transaction(async (tx) => {
    const of = [environment, merchantId, wallet];
    tx.send(lockStatement, [environment, merchantId]);
    const taken = await tx.query<{ slot: number; state: WalletKeyState }>(slotsStatement, of);
    const slots = Array.from({ length: keysMax }, (_, at) => at + 1);
    const isFree = (slot: number) => !taken.some((row) => row.slot === slot);
    const isDropped = (slot: number) => taken.some((row) => row.slot === slot && row.state === "DROPPED");
    const slot = slots.find(isFree) ?? slots.find(isDropped);
    if (slot === undefined) {
      throw new DomainError("state_conflict", `The wallet has ${keysMax} keys. Drop one of them first.`);
    }
    tx.send(clearSlotStatement, [...of, slot]);
    const [key] = await tx.query<WalletKey>(insertStatement, [id, ...of, slot, recipient, spki, request, sealed]);
    return key!;
  });
}

/**
 * Makes a staged key the active one, and retires the key before. A repeat returns the same, or stores a certificate that ends
 * later. Throws `not_found`,
 * `state_conflict` for a key that was active before, and `invalid_field` for a certificate that breaks a rule.
 */
export async function activateWalletKey(
  database: Database,
  { environment }: VaultEnvironment,
  {
    merchantId,
    id,
    certificate,
  }: { readonly merchantId: string; readonly id: string; readonly certificate: Uint8Array },
): Promise<WalletKey> {
  return database.transaction(async (tx) => {
    tx.send(lockStatement, [environment, merchantId]);
    const key = await readKey(tx, { environment, merchantId, id });
    const isActive = key.state === "ACTIVE";
    if (isActive && key.wallet === "google_pay") return key;
    if (!isActive && key.state !== "STAGED") {
      throw new DomainError("state_conflict", "The key was active before. Make a new one.", {
        state: { state: key.state },
      });
    }
    const { wallet, publicKey, recipient } = key;
    const issued =
      wallet === "apple_pay" ? readAppleCertificate(certificate, { publicKey, recipient, now: new Date() }) : undefined;
    if (isActive && issued!.endsAt <= key.certificateEndsAt!) return key;
    if (!isActive) await tx.query(retireStatement, [environment, merchantId, wallet, retiringKeyDays]);
    const [active] = await tx.query<WalletKey>(activateStatement, [id, issued?.der ?? null, issued?.endsAt ?? null]);
    return active!;
  });
}

export function listWalletKeys(
  database: Database,
  { environment }: VaultEnvironment,
  { merchantId }: Pick<MerchantWallet, "merchantId">,
): Promise<WalletKey[]> {
  return database.query<WalletKey>(listStatement, [environment, merchantId]);
}

/** Erases the private half of a key. Idempotent. Throws `not_found`. */
export async function dropWalletKey(
  database: Database,
  { environment }: VaultEnvironment,
  { merchantId, id }: { readonly merchantId: string; readonly id: string },
): Promise<void> {
  await database.transaction(async (tx) => {
    tx.send(lockStatement, [environment, merchantId]);
    await readKey(tx, { environment, merchantId, id });
    tx.send(dropStatement, [id, environment, merchantId]);
  });
}

const uuidShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function readKey(tx: Tx, of: { environment: string; merchantId: string; id: string }): Promise<WalletKey> {
  const isId = uuidShape.test(of.id);
  const [key] = isId ? await tx.query<WalletKey>(readStatement, [of.id, of.environment, of.merchantId]) : [];
  if (key === undefined) throw new DomainError("not_found", "The merchant has no such key.");
  return key;
}

/**
 * Returns the keys that may decrypt a merchant's tokens, the active one first. Throws `wallet_not_enabled` if there is none,
 * and `wallet_unavailable` if the active one cannot be unsealed; another that cannot is left out.
 */
export async function usableWalletKeys(
  database: Queryable,
  vault: VaultEnvironment,
  { merchantId, wallet }: MerchantWallet,
): Promise<DecryptionKey[]> {
  const ring = walletRingOf(vault);
  const rows = await database.query<SealedWalletKey & Pick<WalletKey, "state" | "recipient" | "publicKey">>(
    usableStatement,
    [vault.environment, merchantId, wallet],
  );
  if (rows.length === 0) throw new DomainError("wallet_not_enabled", "The merchant takes no payments by this wallet.");
  const keys = rows.flatMap(({ state, recipient, publicKey, ...row }) => {
    try {
      const privateKey = createPrivateKey(unsealWalletKey(ring, vault.environment, row).expose());
      return [{ recipient, publicKey, privateKey }];
    } catch {
      if (state === "ACTIVE") throw unavailable();
      return [];
    }
  });
  if (keys.length === 0) throw unavailable();
  return keys;
}

/** Reports whether a token of a wallet may arrive. */
export async function anyWalletKey(database: Database): Promise<boolean> {
  return (await database.query(anyStatement, [])).length > 0;
}

/** Returns the keys of the wallet ring that seal a wallet's key and are not in the file of their environment. */
export async function missingWalletSealingKeys(
  database: Database,
  environments: readonly VaultEnvironment[],
): Promise<string[]> {
  const found = await Promise.all(
    environments.map(async ({ environment, walletRing }) => {
      const keys = await findWalletSealingKeys(database, environment, walletRing);
      const file = `the file of SWITCHYARD_${environment.toUpperCase()}_VAULT_KEYS_FILE`;
      return keys.flatMap(({ keyId, unopened }) => (unopened === undefined ? [] : [`${keyId} ${unopened} ${file}`]));
    }),
  );
  return found.flat();
}

function walletRingOf({ walletRing }: VaultEnvironment): KeyRing {
  if (walletRing === undefined) throw unavailable();
  return walletRing;
}

function unavailable(): DomainError {
  return new DomainError("wallet_unavailable", "Payments by this wallet are not possible at the moment.");
}
