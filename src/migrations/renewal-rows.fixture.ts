/** Rows of agreements and their renewals stored by plain SQL, for tests of what the database refuses. */
import { Client } from "pg";
import { v7 } from "uuid";
import { expect, onTestFinished } from "vitest";
import {
  type Connection,
  captured,
  connectWithService,
  newSession,
  opening,
  setAttempt,
  succeeded,
  winning,
} from "./payment-rows.fixture.ts";

export type AgreementRow = {
  readonly id: string;
  readonly merchant: string;
  readonly method: string;
  readonly fingerprint: string;
  readonly ownConnection: string;
};

/** Connects as `connectWithService` does, with functions to call each connection. */
export async function connectForRenewals() {
  const { owner, service } = await connectWithService();
  return {
    owner,
    service,
    answerTo: async (call: string) => ((await service.query(call)).rows as Answer[])[0]!,
    one: async (sql: string) => (await owner.query(sql)).rows[0],
    run: (sql: string) => owner.query(sql),
  };
}

export const renewalOf = ({ id }: AgreementRow, ref = "r1") => `agreement_id = '${id}' AND renewal_ref = '${ref}'`;

/** Stores an agreement whose first payment SANDBOX_A has captured, with its card. `terms` and `chain` are columns. */
export async function agreementOf(
  owner: Connection,
  {
    terms = "",
    chain = true,
    brand = "visa",
    of,
  }: { terms?: string; chain?: boolean; brand?: string; of?: AgreementRow } = {},
): Promise<AgreementRow> {
  const [session, attempt] = [v7(), v7()];
  const row = {
    id: v7(),
    merchant: v7(),
    method: v7(),
    fingerprint: v7(),
    ownConnection: v7(),
    ...(of && { ...of, id: v7() }),
  };
  const run = (sql: string) =>
    owner.query(sql.replaceAll("$session", `'${session}'`).replaceAll("$attempt", `'${attempt}'`));
  await run(newSession({ id: "$session", merchant_id: `'${row.merchant}'`, customer_ref: "'c'", stored: "true" }));
  await run(`INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, terms, agreement_id)
    VALUES ($session, '${row.merchant}', 4900, 'EUR', 'c', 'SAVE', '{}', '${row.id}')`);
  await run(`UPDATE payment_session SET phase = 'PROCESSING', lease_epoch = 1, lease_until = now(), submit_deadline = now() + interval '45 s',
    submitted_at = now() WHERE id = $session`);
  await run(
    `UPDATE stored_payment SET consent_template = 't', consent_locale = 'en', consented_at = now() WHERE session_id = $session`,
  );
  await run(opening(1, { id: attempt, connection: row.ownConnection }));
  await run(`BEGIN; ${winning()}; COMMIT`);
  await run(setAttempt("capture_ordered_at = now()"));
  await run(`BEGIN; ${captured}; ${succeeded}; COMMIT`);
  if (of === undefined)
    await run(`INSERT INTO payment_method (id, merchant_id, customer_ref, brand, last4, exp_month, exp_year, fingerprint, handle_sealed, handle_hash, session_id)
      VALUES ('${row.method}', '${row.merchant}', 'c', '${brand}', '4242', 3, 2031, '${row.fingerprint}', 'sealed', sha256('${row.method}'), $session)`);
  const names = chain ? `'12345', '${row.ownConnection}', 'cus_1', 'pm_1'` : "NULL, NULL, NULL, NULL";
  await run(`INSERT INTO agreement (id, merchant_id, customer_ref, method_id, type, text, currency, every_days, ends_on, status, session_id, consented_at,
      network_transaction_id, own_connection_id, own_customer, own_method)
    VALUES ('${row.id}', '${row.merchant}', 'c', '${row.method}', 'UNSCHEDULED', 'Each month', 'EUR', 1, NULL, 'ACTIVE', $session, now(), ${names})`);
  // The terms of an agreement never change outside tests.
  if (terms !== "")
    await run(
      `ALTER TABLE agreement DISABLE TRIGGER USER; UPDATE agreement SET ${terms} WHERE id = '${row.id}'; ALTER TABLE agreement ENABLE TRIGGER USER`,
    );
  return row;
}

export function taking(
  { id, merchant, method, ownConnection }: AgreementRow,
  change: {
    session?: string;
    ref?: string;
    key?: string;
    hash?: string;
    minor?: number;
    currency?: string;
    tries?: number;
    connection?: string | null;
  } = {},
): string {
  const {
    session = v7(),
    ref = "r1",
    key = v7(),
    hash = "h",
    minor = 900,
    currency = "EUR",
    tries = 8,
    connection = ownConnection,
  } = change;
  const first =
    connection === null ? "NULL, NULL, NULL, NULL, NULL, NULL" : `'SANDBOX_A', '${connection}', 1, 1, 'why', 60000`;
  return `SELECT refused, other, until, attempt FROM app.take_renewal('${session}', '${merchant}', '${id}', '${ref}', sha256('${key}'), sha256('${hash}'), ${minor}, '${currency}',
    'order', NULL, 1, 1800000, NULL, 20000, 45000, 600000, ${tries}, '${method}', 'tok_1', sha256('tok_1'), 1, '[]', '[]', NULL, ${first})`;
}

export type Answer = { refused: string | null; other: string | null; until: Date | null; attempt: string | null };

export async function taken(service: Connection, agreement: AgreementRow, change: Parameters<typeof taking>[1] = {}) {
  const session = v7();
  const [answer] = (await service.query(taking(agreement, { session, ...change }))).rows as Answer[];
  expect(answer).toMatchObject({ refused: null });
  return { session, attempt: answer!.attempt };
}

export async function decline(
  owner: Connection,
  { session, attempt }: { session: string; attempt: string | null },
): Promise<void> {
  if (attempt !== null)
    await owner.query(
      `UPDATE attempt SET status = 'DECLINED', failure_kind = 'SOFT_DECLINE', completed_at = now() WHERE session_id = '${session}'`,
    );
  await owner.query(`UPDATE payment_session SET status = 'DECLINED', phase = 'DONE', decline_code = 'card_declined', vault_token = NULL, settled_at = now()
    WHERE id = '${session}'`);
}

/** Captures the attempt of a renewal, as the service does. */
export async function capture(
  service: Connection,
  { session, attempt }: { session: string; attempt: string | null },
): Promise<void> {
  await service.query(
    `SELECT FROM app.held('${session}', 1, '${attempt}', now(), '${v7()}', NULL, 20000, 10000, NULL, NULL)`,
  );
  await service.query(`SELECT FROM app.captured('${session}', 1, '${attempt}', now(), 'att_1', 'SANDBOX_A', true, false, NULL, NULL, 20000, 10000,
    gen_random_uuid(), 'evt_1', '{}', 10000)`);
}

/** Opens another connection as the service's role, until the test's end. */
export async function connectAgain(service: Client) {
  const { connectionParameters } = service as unknown as {
    connectionParameters: { host: string; port: number; database: string; user: string; password: string };
  };
  const { host, port, database, user, password } = connectionParameters;
  const client = new Client({ host, port, database, user, password });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
