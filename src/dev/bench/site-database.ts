/** Reads from the environment's database of a payment site. */
import { Client } from "pg";
import type { PaymentSite } from "./payment-site.ts";

export function databaseOf({ ownerUrl }: Pick<PaymentSite, "ownerUrl">): string {
  return Object.assign(new URL(ownerUrl), { pathname: "/switchyard_test" }).href;
}

/** Returns the first column of a query's first row. */
export async function askOne<Answer>(url: string, question: string): Promise<Answer> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query({ text: question, rowMode: "array" });
    return rows[0]![0] as Answer;
  } finally {
    await client.end();
  }
}
