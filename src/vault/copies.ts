/** Knows how many copies of the vault run on its database: they share the limits of calls, each by its own memory. */
import { randomUUID } from "node:crypto";
import type { Database, Statement } from "../platform/database.ts";
import { copyLifetimeMs } from "./vault-limits.ts";

const reportStatement: Statement = {
  name: "vault_report_copy",
  text: `WITH me AS (
    INSERT INTO vault_copy (id, expires_at) VALUES ($1, clock_timestamp() + $2::int * interval '1 ms')
    ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at)
  SELECT count(*)::int AS others FROM vault_copy WHERE id <> $1 AND expires_at > clock_timestamp()`,
};

const leaveStatement: Statement = { name: "vault_leave", text: "DELETE FROM vault_copy WHERE id = $1" };

export class Copies {
  readonly #database: Database;
  readonly #id = randomUUID();
  #count = 1;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The number when this copy last reported, itself included. */
  get count(): number {
    return this.#count;
  }

  async report(): Promise<void> {
    const [row] = await this.#database.query<{ others: number }>(reportStatement, [this.#id, copyLifetimeMs]);
    this.#count = 1 + (row?.others ?? 0);
  }

  /** Gives this copy's share back; without it the others wait until its report has expired. */
  async leave(): Promise<void> {
    await this.#database.query(leaveStatement, [this.#id]);
  }
}
