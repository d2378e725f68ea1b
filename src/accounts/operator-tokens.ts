/** Tokens of the people who administer an installation from its command line. Kept as a hash. */
import type { Database, Statement } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";
import { Secret, sha256 } from "../platform/secrets.ts";

// Beyond guessing, as any key of 256 bits.
const tokenBytes = 32;

/** A new token: `<brand>_operator_` and 43 base64url characters. */
export function generateOperatorToken(entropy: Pick<Entropy, "randomBytes">, brand: string): Secret {
  return new Secret(`${brand}_operator_${Buffer.from(entropy.randomBytes(tokenBytes)).toString("base64url")}`);
}

const insertToken: Statement = {
  name: "insert_operator_token",
  text: "INSERT INTO operator_token (id, label, hash) VALUES ($1, $2, $3)",
};

/** Lets a token in from now on; durable on return. */
export async function insertOperatorToken(
  accounts: Database,
  operator: { id: string; label: string; token: Secret },
): Promise<void> {
  await accounts.query(insertToken, [operator.id, operator.label, sha256(operator.token.expose())]);
}

/** The person behind a token, as far as the audit trail needs. */
export type Operator = { readonly id: string; readonly label: string };

const selectOperator: Statement = {
  name: "select_operator",
  text: "SELECT id, label FROM operator_token WHERE hash = $1 AND revoked_at IS NULL",
};

/** Whom a token stands for at this moment; undefined for one that is unknown or revoked. */
export async function findOperator(accounts: Database, token: string): Promise<Operator | undefined> {
  const [row] = await accounts.query<Operator>(selectOperator, [sha256(token)]);
  return row;
}

const revokeTokens: Statement = {
  name: "revoke_operator_tokens",
  text: "UPDATE operator_token SET revoked_at = clock_timestamp() WHERE label = $1 AND revoked_at IS NULL RETURNING id",
};

/** Refuses every token with this label from now on; durable on return. Returns how many were in use. */
export async function revokeOperatorTokens(accounts: Database, label: string): Promise<number> {
  return (await accounts.query(revokeTokens, [label])).length;
}
