/** Tokens of the people who administer an installation from its command line. Stored as a hash. */

import type { Database, Queryable, Statement, Tx } from "../platform/database.ts";
import type { OperatorId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import { Secret, sha256 } from "../platform/secrets.ts";

// Beyond guessing, as any key of 256 bits.
const tokenBytes = 32;

/** Generates a token: `<brand>_operator_` and 43 base64url characters. */
export function generateOperatorToken(runtime: Pick<Runtime, "randomBytes">, brand: string): Secret {
  return new Secret(`${brand}_operator_${Buffer.from(runtime.randomBytes(tokenBytes)).toString("base64url")}`);
}

const insertToken: Statement = {
  name: "insert_operator_token",
  text: "INSERT INTO operator_token (id, label, hash) VALUES ($1, $2, $3)",
};

/** Adds a token, valid from now on; durable on return. */
export async function insertOperatorToken(
  accounts: Database,
  operator: { id: OperatorId; label: string; token: Secret },
): Promise<void> {
  await accounts.query(insertToken, [operator.id, operator.label, sha256(operator.token.expose())]);
}

export type Operator = { readonly id: OperatorId; readonly label: string };

const selectOperator: Statement = {
  name: "select_operator",
  text: "SELECT id, label FROM operator_token WHERE hash = $1 AND revoked_at IS NULL",
};

/** Returns the current holder of a token; undefined if it is unknown or revoked. */
export async function findOperator(accounts: Queryable, token: string): Promise<Operator | undefined> {
  const [row] = await accounts.query<Operator>(selectOperator, [sha256(token)]);
  return row;
}

const lockToken: Statement = {
  name: "lock_operator_token",
  text: "SELECT id, label FROM operator_token WHERE id = $1 AND revoked_at IS NULL FOR NO KEY UPDATE",
};

/** Returns the same operator if their token is still valid; it cannot be revoked until the transaction ends. */
export async function lockOperator(tx: Tx, { id }: Operator): Promise<Operator | undefined> {
  return (await tx.query<Operator>(lockToken, [id]))[0];
}

const revokeTokens: Statement = {
  name: "revoke_operator_tokens",
  text: "UPDATE operator_token SET revoked_at = clock_timestamp() WHERE label = $1 AND revoked_at IS NULL RETURNING id",
};

/** Refuses every token with this label from now on; durable on return. Returns the number that were in use. */
export async function revokeOperatorTokens(accounts: Database, label: string): Promise<number> {
  return (await accounts.query(revokeTokens, [label])).length;
}
