/** Opens a connection to a PostgreSQL for one piece of work. */
import { Client } from "pg";

export async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Returns the first column of a statement's first row; undefined without a row. */
export async function askOne<Answer>(url: string, sql: string): Promise<Answer> {
  const { rows } = await withClient(url, (client) => client.query(sql));
  return Object.values(rows[0] ?? {})[0] as Answer;
}
