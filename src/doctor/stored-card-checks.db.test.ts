import { v7 } from "uuid";
import { expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { openTestDatabase } from "../dev/testing/postgres.ts";
import { examineStoredCards } from "./stored-card-checks.ts";

const { owner, database } = await forFile(openTestDatabase);
const asReplica = (sql: string) =>
  owner.query(`SET session_replication_role = replica; ${sql}; SET session_replication_role = origin`);
const examine = async () => (await examineStoredCards("test", database)).map(({ state, says }) => `${state} ${says}`);

it("reports cards that the vault has lost, savings that are stuck, and cards that are not erased", async () => {
  expect(await examine()).toEqual([]);
  await asReplica(`INSERT INTO payment_method (id, merchant_id, customer_ref, brand, last4, exp_month, exp_year, fingerprint, handle_sealed, handle_hash, session_id)
    SELECT gen_random_uuid(), gen_random_uuid(), 'c', 'visa', '4242', 3, 2031, gen_random_uuid(), 'sealed', sha256(n::text::bytea), gen_random_uuid()
    FROM generate_series(1, 3) n`);
  const saving = (due: string) =>
    asReplica(`INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, consented_at, consent_template, consent_locale,
        saving, save_due_at, token_sealed, handle_sealed, handle_hash)
      VALUES ('${v7()}', gen_random_uuid(), 4900, 'EUR', 'c', 'SAVE', now(), 't', 'en', 'REQUESTED', now() - interval '${due}', 't', 'h', sha256('h'))`);
  await saving("4 minutes");
  expect(await examine()).toEqual(["OK the vault has lost none of 3 stored card(s), and no saving or erasure waits"]);
  await saving("6 minutes");
  await asReplica(
    "UPDATE payment_method SET stopped_because = 'card_lost' WHERE handle_hash = sha256('1'::text::bytea)",
  );
  await owner.query(`INSERT INTO card_erasure (handle_hash, merchant_id, wanted_at, erase_due_at)
    VALUES (sha256('x'), gen_random_uuid(), now() - interval '61 minutes', now())`);
  expect(await examine()).toEqual([
    "PROBLEM the vault has lost 1 of 3 stored card(s): their agreements cannot be charged",
    "PROBLEM 1 card(s) of approved payments wait for more than five minutes to be stored, and are lost after fifteen",
    "WARNING 1 deleted or replaced card(s) wait for more than an hour for the vault to erase them",
  ]);
});
