/** Checks that the keys of an environment open the stored values, and finds the keys that are no longer needed. */
import { identityPlaceOf as dataOfIdentity } from "../accounts/merchant-wallets.ts";
import { associatedDataOf as dataOfMember } from "../accounts/totp.ts";
import type { ServerKeys } from "../config/server-keys.ts";
import { answerAssociatedData as dataOfAnswer } from "../core/create-session.ts";
import { handleAssociatedData as dataOfHandle } from "../core/stored-cards/claim-stored.ts";
import { chatAssociatedDataOf as dataOfChat } from "../events/alert-settings.ts";
import { associatedDataOf as dataOfEndpoint } from "../events/signing-secrets.ts";
import { placeOf as dataOfConnection } from "../gateways/connections.ts";
import { clientSecretReadMs, idempotencyLifetimeMs } from "../limits.ts";
import type { Queryable } from "../platform/database.ts";
import { type KeyRing, unseal } from "../platform/secrets.ts";
import { findSealingKeys } from "../platform/store-ring.ts";
import { type Finding, ok, problem, warning, wordsOf } from "./finding.ts";

/**
 * The newest value that each key has sealed, of each kind. Stored answers are a day's sessions, which are not sorted.
 */
const selectSealed = {
  name: "examine_sealed",
  text: `(SELECT DISTINCT ON (kind, split_part(sealed, '.', 1)) kind, id::text, sealed FROM (
           SELECT 'connection' AS kind, connection_id AS id, sealed, created_at FROM connection_credential WHERE sealed <> ''
           UNION ALL SELECT 'endpoint', id, secret_sealed, created_at FROM endpoint
           UNION ALL SELECT 'endpoint', id, previous_sealed, created_at FROM endpoint WHERE previous_sealed IS NOT NULL
           UNION ALL SELECT 'chat', merchant_id, alert_chat_sealed, NULL FROM merchant_settings WHERE alert_chat_sealed IS NOT NULL
           UNION ALL SELECT 'identity', merchant_id, i->>'sealed', NULL FROM merchant_settings, jsonb_array_elements(wallet_set_up->'identities') i
         ) every ORDER BY kind, split_part(sealed, '.', 1), created_at DESC)
         UNION ALL SELECT 'answer', split_part(newest, ' ', 1), split_part(newest, ' ', 2) FROM (
           SELECT max((session_id::text || ' ' || answer_sealed) COLLATE "C") AS newest FROM idempotency
           WHERE expires_at > (SELECT app.clock()) AND answer_sealed IS NOT NULL GROUP BY split_part(answer_sealed, '.', 1)) answers
         UNION ALL (SELECT DISTINCT ON (split_part(handle_sealed, '.', 1)) 'handle', merchant_id || ' ' || encode(handle_hash, 'hex'), handle_sealed
           FROM payment_method WHERE handle_sealed IS NOT NULL ORDER BY split_part(handle_sealed, '.', 1), id DESC)
         UNION ALL (SELECT DISTINCT ON (split_part(handle_sealed, '.', 1)) 'handle', merchant_id || ' ' || encode(handle_hash, 'hex'), handle_sealed
           FROM stored_payment WHERE saving = 'REQUESTED' AND handle_sealed IS NOT NULL ORDER BY split_part(handle_sealed, '.', 1), session_id DESC)`,
};
const selectSecretVersions = {
  name: "examine_secret_versions",
  text: `SELECT secret_version AS version FROM payment_session WHERE phase <> 'DONE'
         UNION SELECT secret_version FROM payment_session WHERE settled_at > (SELECT app.clock()) - $1 * interval '1 ms'`,
};
// The answer to a repeat with an Idempotency-Key was created within the key's lifetime, so its session ended within it
// too.
const secretUsedMs = Math.max(clientSecretReadMs, idempotencyLifetimeMs);

const selectMembers = {
  name: "examine_members",
  text: `SELECT DISTINCT ON (split_part(totp_sealed, '.', 1)) id, totp_sealed AS sealed FROM member
         WHERE totp_sealed IS NOT NULL ORDER BY split_part(totp_sealed, '.', 1), id DESC`,
};
const selectDemoOperators = {
  name: "examine_operators",
  text: "SELECT label FROM operator_token WHERE label = 'demo' AND revoked_at IS NULL LIMIT 1",
};

type Environment = { readonly environmentName: "test" | "live" };
type SealedRow = { readonly kind: keyof typeof sealedKinds; readonly id: string; readonly sealed: string };

const sealedKinds = {
  connection: {
    what: "credentials of gateways",
    associatedDataOf: (_: Environment, id: string) => dataOfConnection(id),
  },
  endpoint: { what: "signing secrets of endpoints", associatedDataOf: dataOfEndpoint },
  chat: { what: "chats for alerts", associatedDataOf: dataOfChat },
  identity: { what: "identities at Apple", associatedDataOf: (_: Environment, id: string) => dataOfIdentity(id) },
  handle: {
    what: "handles of stored cards",
    associatedDataOf: (_: Environment, id: string) => {
      const [merchantId = "", hash = ""] = id.split(" ");
      return dataOfHandle(merchantId, Buffer.from(hash, "hex"));
    },
  },
  answer: { what: "answers to Idempotency-Keys", associatedDataOf: (_: Environment, id: string) => dataOfAnswer(id) },
};

/** Returns findings on the sealing key and the client secrets' key of an environment, compared with its database. */
export async function examineKeys(
  environmentName: "test" | "live",
  keys: ServerKeys | undefined,
  database: Queryable,
): Promise<Finding[]> {
  if (keys === undefined) return [];
  const area = `keys ${environmentName}`;
  const variable = `SWITCHYARD_${environmentName.toUpperCase()}_KEYS_FILE`;
  const rows = await database.query<SealedRow>(selectSealed, []);
  const versions = await database.query<{ version: number }>(selectSecretVersions, [secretUsedMs]);
  const closed = rows.flatMap((row) => explainClosed(row, { area, variable, environmentName, ring: keys.sealing }));
  return [
    ...(closed.length > 0 ? closed : [ok(area, "open every kind of stored secret")]),
    ...findRetired({ area, variable }, keys.sealing, rows),
    ...findVersions({ area, variable }, keys, versions),
  ];
}

function explainClosed(
  { kind, id, sealed }: SealedRow,
  context: Environment & { readonly area: string; readonly variable: string; readonly ring: KeyRing },
): Finding[] {
  const { what, associatedDataOf } = sealedKinds[kind];
  return explainSealed(what, associatedDataOf(context, id), sealed, context);
}

/** Returns nothing if the ring opens a value that was sealed with this associated data. */
function explainSealed(
  what: string,
  associatedData: string,
  sealed: string,
  { area, variable, ring }: { area: string; variable: string; ring: KeyRing },
): Finding[] {
  const [kid = ""] = sealed.split(".", 1);
  if (ring.keys[kid] === undefined) {
    const remedy = `restore the key in the file of ${variable} from your copy, and reseal before you remove it`;
    return [problem(area, `${what} are sealed with ${kid}, which is not in the file`, remedy)];
  }
  try {
    unseal(ring, associatedData, sealed);
    return [];
  } catch (error) {
    const remedy = `set ${variable} to the key file that this database was used with; the secrets can be read only with it`;
    return [
      problem(
        area,
        `${what} do not open with ${kid}: the file has another key of this name (${wordsOf(error)})`,
        remedy,
      ),
    ];
  }
}

/**
 * Returns findings on the dashboard's sealing key, compared with the accounts, and on operators that should not have
 * access.
 */
export async function examineAccounts(
  accounts: Queryable,
  { ring, usesSandboxGateways }: { ring: KeyRing | undefined; usesSandboxGateways: boolean },
): Promise<Finding[]> {
  const area = "keys accounts";
  const variable = "SWITCHYARD_ACCOUNTS_KEYS_FILE";
  const members = ring ? await accounts.query<{ id: string; sealed: string }>(selectMembers, []) : [];
  const closed = members.flatMap(({ id, sealed }) =>
    explainSealed("second factors of members", dataOfMember(id), sealed, { area, variable, ring: ring! }),
  );
  const [demo] = usesSandboxGateways ? [] : await accounts.query<{ label: string }>(selectDemoOperators, []);
  return [
    ...closed,
    ...(ring && closed.length === 0 ? [ok(area, "open the second factors of members")] : []),
    ...(demo ? [problem(area, "the demo's operator token is valid", "switchyard operator revoke --label demo")] : []),
  ];
}

/** Returns findings on the store ring of an environment, compared with the cards in the vault's database. */
export async function examineStoreRing(
  environmentName: "test" | "live",
  ring: KeyRing | undefined,
  database: Queryable,
): Promise<Finding[]> {
  const area = `keys ${environmentName}`;
  const variable = `SWITCHYARD_${environmentName.toUpperCase()}_VAULT_KEYS_FILE`;
  const keys = await findSealingKeys(database, environmentName, ring);
  const unopened = keys
    .filter(({ state }) => state !== "opens")
    .map(({ keyId, state }) =>
      problem(
        area,
        state === "missing"
          ? `stored cards are sealed with ${keyId}, which is not in the file: the vault does not start`
          : `stored cards do not open with ${keyId}: the file has another key of this name, and the vault does not start`,
        `put the key back into the file of ${variable} from your copy; without it these cards are lost`,
      ),
    );
  if (ring === undefined) {
    const remedy =
      "switchyard server-keys rotate --key store-ring --step add, with the vault's file; restart the vault";
    return [...unopened, warning(area, "the vault has no store ring, so no card can be stored", remedy)];
  }
  const resealed = "switchyard server-keys reseal-stored-cards";
  return [
    ...unopened,
    ...(unopened.length > 0 ? [] : [ok(area, `${ring.current} and the keys before it open every stored card`)]),
    ...keysBefore(Object.keys(ring.keys), ring.current).map((keyId) =>
      keys.some((key) => key.keyId === keyId)
        ? warning(area, `${keyId} still seals stored cards, besides ${ring.current}`, resealed)
        : warning(area, `${keyId} no longer seals stored cards`, `remove it from the file of ${variable}: --step drop`),
    ),
    // A backup cannot be seen from here, and without one the first broken disk ends every agreement.
    ok(
      area,
      `keep a copy of the file of ${variable} apart from the vault and its backups: without it every stored card is lost`,
    ),
  ];
}

function findRetired(
  { area, variable }: { area: string; variable: string },
  { current, keys }: KeyRing,
  rows: readonly SealedRow[],
): Finding[] {
  const stored = new Set(rows.filter(({ kind }) => kind !== "answer").map(({ sealed }) => sealed.split(".", 1)[0]));
  const answers = new Set(rows.filter(({ kind }) => kind === "answer").map(({ sealed }) => sealed.split(".", 1)[0]));
  return keysBefore(Object.keys(keys), current).map((kid) => {
    if (stored.has(kid)) {
      return warning(area, `${kid} still seals stored secrets, besides ${current}`, "switchyard server-keys reseal");
    }
    return answers.has(kid)
      ? ok(area, `${kid} seals answers to Idempotency-Keys, besides ${current}; they expire within a day`)
      : warning(area, `${kid} no longer seals anything`, `remove it from the file of ${variable}`);
  });
}

/**
 * Returns the keys before the current one: a file has its keys in the order in which they were added, and the last may
 * not be in use yet.
 */
function keysBefore<Key>(keys: readonly Key[], current: Key): readonly Key[] {
  return keys.slice(0, keys.indexOf(current));
}

function findVersions(
  { area, variable }: { area: string; variable: string },
  { clientSecret }: ServerKeys,
  rows: readonly { readonly version: number }[],
): Finding[] {
  const missing = rows.filter(({ version }) => !clientSecret.keys.has(version));
  const old = keysBefore([...clientSecret.keys.keys()], clientSecret.current).filter((version) =>
    rows.every((row) => row.version !== version),
  );
  return [
    ...missing.map(({ version }) =>
      problem(
        area,
        `sessions that are open or ended today have client secrets of version ${version}, which is not in the file`,
        `restore clientSecret.keys.${version} in the file of ${variable} until they have expired (a day)`,
      ),
    ),
    ...old.map((version) =>
      warning(
        area,
        `no session that is open or ended today has a client secret of version ${version}`,
        `remove it from the file of ${variable}`,
      ),
    ),
  ];
}
