import { Pool } from "pg";
import { describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { describeError } from "./log-fields.ts";

const testDatabase = await forFile(() => createTestDatabase("environment"), "drop");
const pool = await forFile(() => new Pool({ connectionString: testDatabase.ownerUrl, max: 1 }), "end");

describe("describeError()", () => {
  it("omits the values of a refused row, which can be a customer's", async () => {
    const insert = `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, customer_email, secret_version, expires_at)
      VALUES (gen_random_uuid(), gen_random_uuid(), 1, 'EUR', 'order-1', 'ada@example.com', NULL, now() + interval '1 h')`;
    const refusal: Error = await pool.query(insert).then(
      () => expect.unreachable(),
      (error) => error,
    );
    expect(JSON.stringify(refusal)).toContain("ada@example.com");
    const logged = describeError(new Error("processing stopped", { cause: refusal }));
    expect(JSON.stringify([logged, describeError(refusal)])).not.toContain("ada@example.com");
    expect(describeError(refusal)).toMatchObject({ code: "23502" });
  });

  it("names the constraint that refused a row", async () => {
    const insert = `INSERT INTO idempotency (merchant_id, key, request_hash, session_id, expires_at)
      VALUES (gen_random_uuid(), '', sha256(''), gen_random_uuid(), now())`;
    const refusal = await pool.query(insert).catch((error: unknown) => error);
    expect(describeError(refusal)).toMatchObject({ code: "23514", constraint: "idempotency_key_check" });
  });

  it("includes an error's stack and its causes", () => {
    const error = new TypeError("outer", { cause: new Error("inner") });
    expect(describeError(error)).toMatchObject({ type: "TypeError", message: expect.stringContaining("inner") });
    expect(describeError(error).stack).toContain("log.db.test.ts");
  });

  it("describes a thrown value that is not an error", () => {
    expect(describeError("a text")).toMatchObject({ message: "a text" });
  });
});
