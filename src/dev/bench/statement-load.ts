/** Runs the statements of a creation by `pg` alone in a separate process: the database's limit without pgbench. */
import { Pool } from "pg";
import { v7 } from "uuid";
import { idempotencyLifetimeMs, sessionLifetimeMs } from "../../limits.ts";
import { sha256 } from "../../platform/secrets.ts";
import { answerParent } from "../testing/child-process.ts";
import { generateLoad, order } from "./load.ts";
import { insertSession, selectKey } from "./peers/statements.ts";

type Wanted = {
  readonly databaseUrl: string;
  readonly merchantId: string;
  readonly secretKey: string;
  readonly callers: number;
  readonly seconds: number;
  readonly sealedCharacters: number;
};

async function load(wanted: Wanted) {
  const { databaseUrl, callers, seconds, merchantId } = wanted;
  const pool = new Pool({ connectionString: databaseUrl, max: callers });
  const hash = sha256(wanted.secretKey);
  const sealed = "s".repeat(wanted.sealedCharacters);
  const create = async () => {
    await pool.query({ ...selectKey, values: [hash] });
    const id = v7();
    const { amountMinor, currency, customerEmail } = order;
    const ordered = [id, merchantId, amountMinor, currency, id, customerEmail, 1, sessionLifetimeMs];
    await pool.query({ ...insertSession, values: [...ordered, id, hash, sealed, idempotencyLifetimeMs] });
    return id;
  };
  try {
    return await generateLoad({ callers, seconds }, create);
  } finally {
    await pool.end();
  }
}

answerParent({ load });
