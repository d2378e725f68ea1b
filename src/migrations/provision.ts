/** Creates the databases and roles of an installation, so that no role reaches another's database. */
import { Client, escapeIdentifier, escapeLiteral } from "pg";
import { databaseLogin } from "../platform/database-address.ts";

/** A database and the runtime role that may connect to it. */
export type ProvisionedDatabase = { readonly database: string; readonly role: string; readonly password: string };

/**
 * Creates missing databases and roles and sets the passwords; repeating it is harmless. `ownerUrl` connects to any
 * database of the server as a role with CREATEDB and CREATEROLE, which will own the new databases. Afterwards only the
 * owner and a database's own role may connect to it.
 */
export async function provision(ownerUrl: string, wanted: readonly ProvisionedDatabase[]): Promise<void> {
  const client = new Client(databaseLogin(ownerUrl));
  await client.connect();
  try {
    for (const { database, role, password } of wanted) {
      await createRole(client, role, password);
      await createDatabase(client, database);
      await client.query(`REVOKE ALL ON DATABASE ${escapeIdentifier(database)} FROM PUBLIC`);
      await client.query(`GRANT CONNECT ON DATABASE ${escapeIdentifier(database)} TO ${escapeIdentifier(role)}`);
    }
  } finally {
    await client.end();
  }
}

async function createRole(client: Client, role: string, password: string): Promise<void> {
  const known = await client.query("SELECT 1 FROM pg_roles WHERE rolname = $1", [role]);
  const verb = known.rowCount === 0 ? "CREATE" : "ALTER";
  await client.query(
    `${verb} ROLE ${escapeIdentifier(role)} LOGIN NOCREATEDB NOCREATEROLE PASSWORD ${escapeLiteral(password)}`,
  );
}

async function createDatabase(client: Client, database: string): Promise<void> {
  const known = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [database]);
  if (known.rowCount === 0) await client.query(`CREATE DATABASE ${escapeIdentifier(database)}`);
}
