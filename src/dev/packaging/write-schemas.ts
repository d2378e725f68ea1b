/** `npm run schema`: writes the schema of each kind of database as its migrations make it (src/migrations/…/schema.sql). */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Pool } from "pg";
import { startPrivatePostgres } from "../../demo/private-postgres.ts";
import { migrate } from "../../migrations/migrate.ts";
import { loadSchema } from "../../migrations/schema-dump.ts";
import { type DatabaseKind, schemaHistory } from "../../migrations/schema-history.ts";
import { Database } from "../../platform/database.ts";
import { schemaFileOf, writeSchema } from "../testing/schema-text.ts";

const stateFolder = await mkdtemp(join(tmpdir(), "switchyard-schema-"));
const postgres = await startPrivatePostgres({ stateFolder, dataName: "postgres", forTests: true });
try {
  for (const kind of Object.keys(schemaHistory) as DatabaseKind[]) {
    await writeFile(schemaFileOf(kind), await schemaOf(kind));
    console.log(`Wrote src/migrations/${kind}/schema.sql.`);
  }
} finally {
  await postgres.stop({ removeData: true });
  await rm(stateFolder, { recursive: true, force: true });
}

async function schemaOf(kind: DatabaseKind): Promise<string> {
  const server = new Client({ connectionString: postgres.ownerUrl });
  await server.connect();
  await server.query(`CREATE ROLE ${kind}`);
  await server.query(`CREATE DATABASE ${kind}`);
  await server.end();
  const ownerUrl = Object.assign(new URL(postgres.ownerUrl), { pathname: kind }).href;
  await migrate({ ownerUrl, kind, runtimeRole: kind });
  const pool = new Pool({ connectionString: ownerUrl, max: 1, pipeline: true });
  // Its end resolves while its socket still closes, which the server's stop then breaks.
  pool.on("error", () => {});
  const schema = await loadSchema(new Database(pool));
  await pool.end();
  return writeSchema(schema);
}
