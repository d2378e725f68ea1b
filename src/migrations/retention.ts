/** Retention periods of an environment's database: its owner sets them, and the worker applies them. */
import { Client } from "pg";
import { databaseLogin } from "../platform/database-address.ts";
import { SchemaError } from "./schema-error.ts";

/** Minimum retention in whole units; null keeps rows forever. A period that is left out stays unchanged. */
export type Retention = {
  /** Sessions with their attempts, events and deliveries; at least 18, because disputes come up to 540 days later. */
  readonly paymentsMonths?: number | null | undefined;
  /** Each delivery attempt of a webhook with its answer; at least 30. */
  readonly deliveryLogDays?: number | null | undefined;
};

/** Both periods in force. */
export type Periods = { readonly paymentsMonths: number | null; readonly deliveryLogDays: number | null };

/**
 * Sets the given periods in one transaction and returns those in force. Durable on return; the worker drops older rows
 * within minutes.
 */
export async function setRetention(ownerUrl: string, wanted: Retention): Promise<Periods> {
  const client = new Client(databaseLogin(ownerUrl));
  await client.connect();
  try {
    const { paymentsMonths, deliveryLogDays } = wanted;
    await client.query("BEGIN");
    if (paymentsMonths !== undefined) {
      await client.query("UPDATE app.retention SET keep = $1 * interval '1 month' WHERE kind = 'payments'", [
        paymentsMonths,
      ]);
    }
    if (deliveryLogDays !== undefined) {
      await client.query("UPDATE app.retention SET keep = $1 * interval '1 day' WHERE kind = 'delivery_log'", [
        deliveryLogDays,
      ]);
    }
    await client.query("COMMIT");
    const { rows } = await client.query<Periods>(`
      SELECT (SELECT extract(year FROM keep) * 12 + extract(month FROM keep) FROM app.retention WHERE kind = 'payments')::int
          AS "paymentsMonths",
        (SELECT extract(day FROM keep) FROM app.retention WHERE kind = 'delivery_log')::int AS "deliveryLogDays"`);
    return rows[0]!;
  } catch (error) {
    throw explained(error);
  } finally {
    await client.end();
  }
}

function explained(error: unknown): unknown {
  switch ((error as { code?: unknown }).code) {
    case "23514":
      return new SchemaError("Keep payments for at least 18 months, and the delivery log for at least 30 days.");
    case "42P01":
      return new SchemaError(
        "This database has no retention periods yet. Update its schema with `switchyard migrate`.",
      );
    case "42501":
      return new SchemaError(
        "Only the owner of the database can set retention periods. Use the address that you migrate with.",
      );
    default:
      return error;
  }
}
