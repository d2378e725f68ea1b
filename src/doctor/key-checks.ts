/** Whether the keys of an environment open what is stored, and which of them have had their day. */
import { placeOf as placeOfMember } from "../accounts/totp.ts";
import { answerPlace as placeOfAnswer } from "../core/create-session.ts";
import { placeOf as placeOfEndpoint } from "../events/signing-secrets.ts";
import { placeOf as placeOfConnection } from "../gateways/connections.ts";
import { clientSecretReadMs, idempotencyLifetimeMs } from "../limits.ts";
import type { Queryable } from "../platform/database.ts";
import { type KeyRing, unseal } from "../platform/secrets.ts";
import type { ServerKeys } from "../server-keys.ts";
import { type Finding, ok, problem, warning, wordsOf } from "./finding.ts";

/** The newest value that each key has sealed, of each kind. First answers are a day's sessions, which no sort is made of. */
const selectSealed = {
  name: "examine_sealed",
  text: `(SELECT DISTINCT ON (kind, split_part(sealed, '.', 1)) kind, id::text, sealed FROM (
           SELECT 'connection' AS kind, connection_id AS id, sealed, created_at FROM connection_credential WHERE sealed <> ''
           UNION ALL SELECT 'endpoint', id, secret_sealed, created_at FROM endpoint
           UNION ALL SELECT 'endpoint', id, previous_sealed, created_at FROM endpoint WHERE previous_sealed IS NOT NULL
         ) every ORDER BY kind, split_part(sealed, '.', 1), created_at DESC)
         UNION ALL SELECT 'answer', split_part(newest, ' ', 1), split_part(newest, ' ', 2) FROM (
           SELECT max((session_id::text || ' ' || answer_sealed) COLLATE "C") AS newest FROM idempotency
           WHERE expires_at > (SELECT app.clock()) AND answer_sealed IS NOT NULL GROUP BY split_part(answer_sealed, '.', 1)) answers`,
};
const selectSecretVersions = {
  name: "examine_secret_versions",
  text: `SELECT secret_version AS version FROM payment_session WHERE phase <> 'DONE'
         UNION SELECT secret_version FROM payment_session WHERE settled_at > (SELECT app.clock()) - $1 * interval '1 ms'`,
};
// What a repeat with an Idempotency-Key is answered with was created within the key's lifetime, so that it ended within it too.
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
  connection: { what: "credentials of gateways", placeOf: (_: Environment, id: string) => placeOfConnection(id) },
  endpoint: { what: "signing secrets of endpoints", placeOf: placeOfEndpoint },
  answer: { what: "answers to Idempotency-Keys", placeOf: (_: Environment, id: string) => placeOfAnswer(id) },
};

/** What the sealing key and the client secrets' key of an environment are to its database. */
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
    ...(closed.length > 0 ? closed : [ok(area, "open every kind of secret that is stored")]),
    ...findRetired({ area, variable }, keys.sealing, rows),
    ...findVersions({ area, variable }, keys, versions),
  ];
}

function explainClosed(
  { kind, id, sealed }: SealedRow,
  context: Environment & { readonly area: string; readonly variable: string; readonly ring: KeyRing },
): Finding[] {
  const { what, placeOf } = sealedKinds[kind];
  return explainSealed(what, placeOf(context, id), sealed, context);
}

/** Nothing, where the ring opens what was sealed for this place. */
function explainSealed(
  what: string,
  place: string,
  sealed: string,
  { area, variable, ring }: { area: string; variable: string; ring: KeyRing },
): Finding[] {
  const [kid = ""] = sealed.split(".", 1);
  if (ring.keys[kid] === undefined) {
    const remedy = `put the key back into the file of ${variable} from your copy, and reseal before you take it out`;
    return [problem(area, `${what} are sealed with ${kid}, which is not in the file`, remedy)];
  }
  try {
    unseal(ring, place, sealed);
    return [];
  } catch (error) {
    const remedy = `set ${variable} to the key file that this database was used with; nothing is lost while you have it`;
    return [
      problem(
        area,
        `${what} do not open with ${kid}: the file has another key of this name (${wordsOf(error)})`,
        remedy,
      ),
    ];
  }
}

/** What the dashboard's sealing key is to the accounts, and who is let in that should not be. */
export async function examineAccounts(
  accounts: Queryable,
  { ring, areGatewaysPretend }: { ring: KeyRing | undefined; areGatewaysPretend: boolean },
): Promise<Finding[]> {
  const area = "keys accounts";
  const variable = "SWITCHYARD_ACCOUNTS_KEYS_FILE";
  const members = ring ? await accounts.query<{ id: string; sealed: string }>(selectMembers, []) : [];
  const closed = members.flatMap(({ id, sealed }) =>
    explainSealed("second factors of members", placeOfMember(id), sealed, { area, variable, ring: ring! }),
  );
  const [demo] = areGatewaysPretend ? [] : await accounts.query<{ label: string }>(selectDemoOperators, []);
  return [
    ...closed,
    ...(ring && closed.length === 0 ? [ok(area, "open the second factors of members")] : []),
    ...(demo
      ? [problem(area, "a demo's operator token lets people in", "switchyard operator revoke --label demo")]
      : []),
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
      return warning(area, `${kid} still seals stored secrets beside ${current}`, "switchyard server-keys reseal");
    }
    return answers.has(kid)
      ? ok(area, `${kid} seals answers to Idempotency-Keys beside ${current}; they end within a day`)
      : warning(area, `${kid} seals nothing any more`, `take it out of the file of ${variable}`);
  });
}

/** Those that have had their turn: a file has its keys in the order in which they were added, and the last may wait for it. */
function keysBefore<Key>(keys: readonly Key[], current: Key): readonly Key[] {
  return keys.slice(0, keys.indexOf(current));
}

function findVersions(
  { area, variable }: { area: string; variable: string },
  { clientSecret }: ServerKeys,
  rows: readonly { readonly version: number }[],
): Finding[] {
  const lost = rows.filter(({ version }) => !clientSecret.keys.has(version));
  const old = keysBefore([...clientSecret.keys.keys()], clientSecret.current).filter((version) =>
    rows.every((row) => row.version !== version),
  );
  return [
    ...lost.map(({ version }) =>
      problem(
        area,
        `sessions that are open or ended today have client secrets of version ${version}, which is not in the file`,
        `put clientSecret.keys.${version} back into the file of ${variable} until they have ended (a day)`,
      ),
    ),
    ...old.map((version) =>
      warning(
        area,
        `no session that is open or ended today has a client secret of version ${version}`,
        `take it out of the file of ${variable}`,
      ),
    ),
  ];
}
