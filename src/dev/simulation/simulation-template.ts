/** The migrated database of a simulation's server. Each process plays on a copy of it. */
import { Client } from "pg";

export const simulationTemplate = "simulation_template";

/** Runs statements one after the other on a separate connection. */
export async function runOn(url: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
