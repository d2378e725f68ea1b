/** Tests that the database pays a renewal once, and keeps what banks, networks and the customer allow: S3 to S8 of docs/subscriptions.md. */
import { v7 } from "uuid";
import { describe, expect, it, onTestFinished } from "vitest";
import { attemptIdOf, deriveId } from "../core/record/open-attempt.ts";
import { connectWithService, opening, refused } from "./payment-rows.fixture.ts";
import { type AgreementRow, type Answer, agreementOf, capture, decline, taken, taking } from "./renewal-rows.fixture.ts";

const { owner, service } = await connectWithService();
const answerTo = async (call: string) => ((await service.query(call)).rows as Answer[])[0]!;
const one = async (sql: string) => (await owner.query(sql)).rows[0];
const renewalOf = ({ id }: AgreementRow, ref = "r1") => `agreement_id = '${id}' AND renewal_ref = '${ref}'`;
const run = (sql: string) => owner.query(sql);

/** Stores so many declines of a card within the last minutes, or from an interval ago on. */
const declines = ({ merchant, fingerprint }: AgreementRow, count: number, ago = "1 min") =>
  owner.query(`INSERT INTO card_decline (merchant_id, fingerprint, attempt_id, declined_at, by_customer)
    SELECT '${merchant}', '${fingerprint}', gen_random_uuid(), now() - interval '${ago}' - n * interval '1 s', false FROM generate_series(1, ${count}) n`);

describe("S3: a renewal", () => {
  it("is taken by one session, whose attempt is open, and a second key is told whose it is", async () => {
    const agreement = await agreementOf(owner);
    const first = await taken(service, agreement, { key: "k1" });
    expect(await answerTo(taking(agreement, { key: "k2" }))).toMatchObject({ refused: "in_progress", other: first.session });
    expect(await one(`SELECT s.phase, s.lease_epoch AS epoch, s.stored, a.status, a.id FROM payment_session s JOIN attempt a ON a.session_id = s.id WHERE s.id = '${first.session}'`))
      .toEqual({ phase: "PROCESSING", epoch: 1, stored: true, status: "AUTHORIZING", id: first.attempt });
    expect(await one(`SELECT count(*)::int AS sessions FROM stored_payment WHERE agreement_id = '${agreement.id}' AND role = 'RENEWAL'`)).toEqual({ sessions: 1 });
  });

  it("answers its key with its session, and other fields with a refusal", async () => {
    const agreement = await agreementOf(owner);
    const first = await taken(service, agreement, { key: "k1" });
    expect(await answerTo(taking(agreement, { key: "k1" }))).toMatchObject({ refused: "known", other: first.session });
    const other = { refused: "idempotency_key_reused", other: first.session };
    expect(await answerTo(taking(agreement, { key: "k1", hash: "other" }))).toMatchObject(other);
    expect(await answerTo(taking(agreement, { key: "k1", hash: "other", ref: "r2" }))).toMatchObject(other);
  });

  it("passes to another session once its own has ended unpaid, with the next number", async () => {
    const agreement = await agreementOf(owner);
    const first = await taken(service, agreement);
    await decline(owner, first);
    const second = await taken(service, agreement);
    expect(second.attempt).not.toBe(first.attempt);
    expect(await one(`SELECT session_id AS session, tries FROM renewal WHERE ${renewalOf(agreement)}`)).toEqual({ session: second.session, tries: 2 });
  });

  it("is paid with the commit of its capture, and never again", async () => {
    const agreement = await agreementOf(owner);
    const first = await taken(service, agreement);
    await capture(service, first);
    expect(await one(`SELECT paid_session_id AS paid FROM renewal WHERE ${renewalOf(agreement)}`)).toEqual({ paid: first.session });
    expect(await answerTo(taking(agreement))).toMatchObject({ refused: "paid", other: first.session });
  });

  it("is taken once by many at the same time", async () => {
    const agreement = await agreementOf(owner);
    const clients = await Promise.all(Array.from({ length: 8 }, () => another()));
    const answers = await Promise.all(clients.map(async (client) => ((await client.query(taking(agreement))).rows as Answer[])[0]!));
    expect(answers.filter(({ refused }) => refused === null)).toHaveLength(1);
    expect(answers.filter(({ refused }) => refused === "in_progress")).toHaveLength(7);
  });

  it.each([
    ["passes to no session while its own is open", "session_id = gen_random_uuid(), tries = 2", /ended unpaid/],
    ["passes on with the next number only", "session_id = $ended, tries = 5", /each try has its number/],
    ["has no further number for the same session", "tries = 2", /each try has its number/],
    ["is never without the session that it had", "session_id = NULL, tries = 2", /ended unpaid/],
    ["is paid by a captured session only", "paid_session_id = session_id", /a paid renewal has its capture/],
    ["stays its agreement's", "created_at = now() - interval '1 day'", /stays its agreement's/],
  ])("%s", async (_, change, reason) => {
    const agreement = await agreementOf(owner);
    const first = await taken(service, agreement);
    const set = change.replace("$ended", `'${v7()}'`);
    if (change.includes("$ended")) await decline(owner, first);
    await refused(owner, run, `UPDATE renewal SET ${set} WHERE ${renewalOf(agreement)}`, reason);
  });

  it("never changes once it is paid", async () => {
    const agreement = await agreementOf(owner);
    await capture(service, await taken(service, agreement));
    for (const change of ["session_id = gen_random_uuid(), tries = 2, paid_session_id = NULL", "only_by_link = true", "paid_session_id = NULL"])
      await refused(owner, run, `UPDATE renewal SET ${change} WHERE ${renewalOf(agreement)}`, /a paid renewal never changes/);
  });

  it("begins without a try", async () => {
    const { id, merchant } = await agreementOf(owner);
    const insert = `INSERT INTO renewal (agreement_id, renewal_ref, merchant_id, tries) VALUES ('${id}', 'r9', '${merchant}', 1)`;
    await refused(owner, run, insert, /begins without a try/);
  });

  it("lets no session make an attempt that lost it", async () => {
    const agreement = await agreementOf(owner);
    const { session } = await taken(service, agreement);
    await run(`ALTER TABLE renewal DISABLE TRIGGER USER; UPDATE renewal SET session_id = gen_random_uuid() WHERE ${renewalOf(agreement)};
      ALTER TABLE renewal ENABLE TRIGGER USER`);
    await run(`UPDATE attempt SET status = 'FAILED', failure_kind = 'GATEWAY_ERROR', completed_at = now() WHERE session_id = '${session}'`);
    await refused(owner, run, opening(`'${v7()}'`, 2, "900").replaceAll("$session", `'${session}'`), /the renewal is another session's/);
  });

  it("is not captured without being paid", async () => {
    const agreement = await agreementOf(owner);
    const first = await taken(service, agreement);
    await run(`ALTER TABLE renewal DISABLE TRIGGER USER; UPDATE renewal SET session_id = gen_random_uuid() WHERE ${renewalOf(agreement)};
      ALTER TABLE renewal ENABLE TRIGGER USER`);
    await expect(capture(service, first)).rejects.toThrow("a captured renewal is paid");
  });
});

describe("S4: after a restore", () => {
  const restore = async () => {
    await run("UPDATE replica_mark SET restored_at = clock_timestamp(), restores = restores + 1");
    onTestFinished(() => run("UPDATE replica_mark SET restored_at = NULL, restores = 0").then(() => {}));
  };

  it("a renewal of an older agreement begins in doubt, without an attempt, under other names", async () => {
    const agreement = await agreementOf(owner);
    await restore();
    const { session, attempt } = await taken(service, agreement);
    expect(attempt).toBeNull();
    const row = await one(`SELECT unrecorded_check_at > clock_timestamp() AS "waits", submit_deadline - submitted_at > interval '9 min' AS "hasTime", named_by AS "namedBy"
      FROM payment_session WHERE id = '${session}'`);
    expect(row).toEqual({ waits: true, hasTime: true, namedBy: deriveId(agreement.id, "renewal 1 1 r1") });
  });

  it("a renewal of a younger agreement begins at once, and of an older one after 45 days", async () => {
    const older = await agreementOf(owner);
    await restore();
    const younger = await agreementOf(owner);
    expect((await taken(service, younger)).attempt).not.toBeNull();
    await run("UPDATE replica_mark SET restored_at = restored_at - interval '46 days'");
    await run(`ALTER TABLE agreement DISABLE TRIGGER USER; UPDATE agreement SET created_at = created_at - interval '47 days' WHERE id = '${older.id}';
      ALTER TABLE agreement ENABLE TRIGGER USER`);
    expect((await taken(service, older)).attempt).not.toBeNull();
  });

  it("no renewal of an older agreement begins without doubt", async () => {
    const agreement = await agreementOf(owner);
    await restore();
    const { session } = await taken(service, agreement);
    const copy = v7();
    await refused(
      owner,
      run,
      `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at, customer_ref, stored, named_by)
         SELECT '${copy}', merchant_id, amount_minor, currency, order_ref, 1, expires_at, customer_ref, true, app.renewal_name('${agreement.id}', 'r1', 2, 1)
         FROM payment_session WHERE id = '${session}';
       INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, agreement_id, renewal_ref, try, method_id, chain_version)
         SELECT '${copy}', merchant_id, amount_minor, currency, customer_ref, role, agreement_id, renewal_ref, 2, method_id, chain_version
         FROM stored_payment WHERE session_id = '${session}'`,
      /after a restore, gateways are asked about a renewal first/,
    );
  });
});

describe("S4: the names of a renewal", () => {
  it("are the same in the service and here", async () => {
    const agreement = await agreementOf(owner);
    const { session, attempt } = await taken(service, agreement, { ref: "Größe 1" });
    const namedBy = deriveId(agreement.id, "renewal 0 1 Größe 1");
    expect(await one(`SELECT named_by AS "namedBy" FROM payment_session WHERE id = '${session}'`)).toEqual({ namedBy });
    expect(attempt).toBe(attemptIdOf({ sessionId: namedBy, connectionId: agreement.ownConnection }));
    const retry = attemptIdOf({ sessionId: namedBy, connectionId: agreement.ownConnection, round: 2 });
    expect(await one(`SELECT app.attempt_name('${namedBy}', '${agreement.ownConnection}', 2) AS id`)).toEqual({ id: retry });
  });

  it("never change, and no attempt has another one", async () => {
    const agreement = await agreementOf(owner);
    const { session } = await taken(service, agreement);
    await refused(owner, run, `UPDATE payment_session SET named_by = NULL WHERE id = '${session}'`, /what was ordered never changes/);
    await run(`UPDATE attempt SET status = 'FAILED', failure_kind = 'GATEWAY_ERROR', completed_at = now() WHERE session_id = '${session}'`);
    await refused(owner, run, opening(`'${v7()}'`, 2, "900").replaceAll("$session", `'${session}'`), /an attempt of a renewal has its name/);
  });

  it("are those of its try", async () => {
    const agreement = await agreementOf(owner);
    const { session } = await taken(service, agreement);
    const copy = v7();
    await refused(
      owner,
      run,
      `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at, customer_ref, stored, named_by)
         SELECT '${copy}', merchant_id, amount_minor, currency, order_ref, 1, expires_at, customer_ref, true, named_by FROM payment_session WHERE id = '${session}';
       INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, agreement_id, renewal_ref, try, method_id, chain_version)
         SELECT '${copy}', merchant_id, amount_minor, currency, customer_ref, role, agreement_id, renewal_ref, 2, method_id, chain_version
         FROM stored_payment WHERE session_id = '${session}'`,
      /a renewal has the names of its try/,
    );
  });
});

describe("S5: no renewal", () => {
  const stop = ({ merchant, fingerprint }: AgreementRow, set: string) =>
    owner.query(`INSERT INTO card_state (merchant_id, fingerprint) VALUES ('${merchant}', '${fingerprint}') ON CONFLICT DO NOTHING;
      UPDATE card_state SET ${set} WHERE merchant_id = '${merchant}' AND fingerprint = '${fingerprint}'`);

  const cases = [
    { of: "a stopped card", with: (a: AgreementRow) => stop(a, "stopped_at = now(), stopped_because = 'lost_or_stolen'"), refused: "stopped" },
    { of: "a card that has to wait", with: (a: AgreementRow) => stop(a, "not_before = now() + interval '1 h'"), refused: "waits", until: true },
    { of: "a card declined 15 times in a month", with: (a: AgreementRow) => declines(a, 15, "29 days"), refused: "limit", until: true },
    { of: "a Mastercard declined 10 times in a day", brand: "mastercard", with: (a: AgreementRow) => declines(a, 10, "23 h"), refused: "limit", until: true },
    { of: "a Mastercard declined 35 times in a month", brand: "mastercard", with: (a: AgreementRow) => declines(a, 35, "29 days"), refused: "limit", until: true },
    { of: "a cancelled agreement", terms: "status = 'CANCELLED', ended_at = now()", refused: "cancelled" },
    { of: "an agreement without a card", terms: "status = 'NEEDS_CARD', status_because = 'x'", refused: "needs_card" },
    { of: "more than was agreed", terms: "max_amount_minor = 899", refused: "amount" },
    { of: "an agreement past its last day", terms: "type = 'RECURRING', ends_on = '2020-01-01'", refused: "over" },
    { of: "a renewal that its customer has to pay", with: (a: AgreementRow) => link(a), refused: "link" },
  ];
  const link = ({ id, merchant }: AgreementRow) =>
    owner.query(`INSERT INTO renewal (agreement_id, renewal_ref, merchant_id, only_by_link) VALUES ('${id}', 'r1', '${merchant}', true)`);

  it.each(cases)("of $of is begun", async ({ with: change, terms, brand, refused: reason, until = false }) => {
    const agreement = await agreementOf(owner, { ...(terms && { terms }), ...(brand && { brand }) });
    await change?.(agreement);
    const answer = await answerTo(taking(agreement));
    expect(answer).toMatchObject({ refused: reason, until: until ? expect.any(Date) : null, attempt: null });
    expect(await one(`SELECT count(*)::int AS sessions FROM stored_payment WHERE agreement_id = '${agreement.id}' AND role = 'RENEWAL'`)).toEqual({ sessions: 0 });
  });

  // What a running renewal has sent is not undone, but nothing follows it.
  const meanwhile = [
    ...cases.filter(({ refused: reason }) => ["stopped", "waits", "limit"].includes(reason)).map((one) => ({ ...one, reason: /no renewal of a card/ })),
    { of: "a renewal that its customer has to pay", brand: undefined, with: (a: AgreementRow) => owner.query(`UPDATE renewal SET only_by_link = true WHERE agreement_id = '${a.id}'`), reason: /only its customer/ },
    { of: "more than was agreed", brand: undefined, with: (a: AgreementRow) => owner.query(`ALTER TABLE agreement DISABLE TRIGGER USER;
      UPDATE agreement SET max_amount_minor = 899 WHERE id = '${a.id}'; ALTER TABLE agreement ENABLE TRIGGER USER`), reason: /within its agreement/ },
  ];
  it.each(meanwhile)("of $of goes on to another gateway", async ({ with: change, brand, reason }) => {
    const agreement = await agreementOf(owner, { ...(brand && { brand }) });
    const { session } = await taken(service, agreement);
    await run(`UPDATE attempt SET status = 'FAILED', failure_kind = 'GATEWAY_ERROR', completed_at = now() WHERE session_id = '${session}'`);
    await change!(agreement);
    const connection = v7();
    const { name } = await one(`SELECT app.attempt_name(named_by, '${connection}', 0) AS name FROM payment_session WHERE id = '${session}'`);
    const open = opening(`'${name}'`, 2, "900", connection).replaceAll("$session", `'${session}'`);
    await refused(owner, run, open, reason);
  });

  it("is refused for what has passed, or is another network's", async () => {
    const agreement = await agreementOf(owner);
    await declines(agreement, 14);
    await declines(agreement, 30, "31 days");
    await stop(agreement, "not_before = now() - interval '1 s'");
    await taken(service, agreement);
    const mastercard = await agreementOf(owner, { brand: "mastercard" });
    await declines(mastercard, 9);
    await declines(mastercard, 20, "25 h");
    await taken(service, mastercard);
  });

  it("is tried more often than the setting allows", async () => {
    const agreement = await agreementOf(owner);
    for (let nth = 1; nth <= 2; nth++) await decline(owner, await taken(service, agreement, { tries: 2 }));
    expect(await answerTo(taking(agreement, { tries: 2 }))).toMatchObject({ refused: "tries" });
  });

  it("follows the last instalment, of which the first payment was one, and those under way count", async () => {
    const agreement = await agreementOf(owner, { terms: "type = 'INSTALMENT', ends_on = now() + interval '1 year', instalments = 3" });
    await capture(service, await taken(service, agreement, { ref: "r1" }));
    const open = await taken(service, agreement, { ref: "r2" });
    expect(await answerTo(taking(agreement, { ref: "r3" }))).toMatchObject({ refused: "over" });
    await decline(owner, open);
    await capture(service, await taken(service, agreement, { ref: "r2" }));
    expect(await answerTo(taking(agreement, { ref: "r3" }))).toMatchObject({ refused: "over" });
  });

  it("in another currency is begun", async () => {
    expect(await answerTo(taking(await agreementOf(owner), { currency: "USD" }))).toMatchObject({ refused: "amount" });
  });

  it("of many at once is sent beyond the limit: an open one counts", async () => {
    const agreement = await agreementOf(owner);
    await declines(agreement, 14);
    const others: AgreementRow[] = [];
    for (let nth = 0; nth < 6; nth++) others.push(await agreementOf(owner, { of: agreement }));
    const clients = await Promise.all(others.map(() => another()));
    const answers = await Promise.all(
      others.map(async (other, index) => ((await clients[index]!.query(taking(other))).rows as Answer[])[0]!),
    );
    expect(answers.map(({ refused }) => refused).toSorted()).toEqual(["limit", "limit", "limit", "limit", "limit", null]);
  });

  it("with another card than the one that was opened is begun", async () => {
    const agreement = await agreementOf(owner);
    const other = await agreementOf(owner);
    expect(await answerTo(taking({ ...agreement, method: other.method }))).toMatchObject({ refused: "changed" });
  });

  it("of another merchant's agreement is begun", async () => {
    const agreement = await agreementOf(owner);
    expect(await answerTo(taking({ ...agreement, merchant: v7() }))).toMatchObject({ refused: "not_found" });
  });
});

describe("S6: a try of a renewal", () => {
  const counted = async ({ fingerprint }: AgreementRow) =>
    (await one(`SELECT count(*)::int AS count FROM card_decline WHERE fingerprint = '${fingerprint}'`)).count;

  it.each([
    ["counts while it is open", "SELECT 1", 1],
    ["counts when it is declined", "UPDATE attempt SET status = 'DECLINED', failure_kind = 'SOFT_DECLINE', completed_at = now() WHERE session_id = $session", 1],
    ["counts when it is not answered", "UPDATE attempt SET status = 'UNKNOWN', failure_kind = 'TIMEOUT' WHERE session_id = $session", 1],
    ["counts no longer when no gateway processed it", "UPDATE attempt SET status = 'FAILED', failure_kind = 'GATEWAY_ERROR', completed_at = now() WHERE session_id = $session", 0],
    ["counts no longer when it holds", "SELECT FROM app.held($session, 1, $attempt, now(), gen_random_uuid()::text, NULL, 20000, 10000, NULL, NULL)", 0],
  ])("%s", async (_, change, count) => {
    const agreement = await agreementOf(owner);
    const { session, attempt } = await taken(service, agreement);
    const by = change.includes("app.held") ? service : owner;
    await by.query(change.replace("$session", `'${session}'`).replace("$attempt", `'${attempt}'`));
    expect(await counted(agreement)).toBe(count);
  });

  it("is not recorded by the statement of a plain failover, which counts nothing", async () => {
    const agreement = await agreementOf(owner);
    const { session, attempt } = await taken(service, agreement);
    const failed = `SELECT app.failed('${session}', 1, '${attempt}', now(), 'DECLINED', 'SOFT_DECLINE', 'card_declined', '05', NULL, 'why', NULL, NULL,
      20000, 10000, 1000, gen_random_uuid(), 'SANDBOX_B', gen_random_uuid(), 1, 2, 'then', 60000) AS at`;
    expect((await service.query(failed)).rows).toEqual([{ at: null }]);
  });
});

describe("S7: a renewal", () => {
  it.each(["browser_sealed = 'b'", "awaiting_since = now(), authentications = 1", "authentications = 1"])("has no customer: %s", async (set) => {
    const { session } = await taken(service, await agreementOf(owner));
    await refused(owner, run, `UPDATE payment_session SET ${set} WHERE id = '${session}'`, /a renewal has no customer to ask/);
  });
});

describe("S8: a renewal", () => {
  it("goes on at the account of its chain, or with a network transaction id", async () => {
    const own = await agreementOf(owner, { terms: "network_transaction_id = NULL" });
    const session = v7();
    await expect(service.query(taking(own, { session, connection: v7() }))).rejects.toThrow("a gateway continues its own chain, or one with a network transaction id");
    expect((await taken(service, own)).attempt).not.toBeNull();
    const network = await agreementOf(owner);
    expect((await taken(service, network, { connection: v7() })).attempt).not.toBeNull();
  });

  it("continues its agreement's chain", async () => {
    const agreement = await agreementOf(owner);
    const { session } = await taken(service, agreement);
    await decline(owner, { session, attempt: "x" });
    const copy = v7();
    await refused(
      owner,
      run,
      `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at, customer_ref, stored, named_by)
         SELECT '${copy}', merchant_id, amount_minor, currency, order_ref, 1, expires_at, customer_ref, true, app.renewal_name('${agreement.id}', 'r1', 2, 0)
         FROM payment_session WHERE id = '${session}';
       INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, agreement_id, renewal_ref, try, method_id, chain_version, network_transaction_id)
         SELECT '${copy}', merchant_id, amount_minor, currency, customer_ref, role, agreement_id, renewal_ref, 2, method_id, chain_version, 'another'
         FROM stored_payment WHERE session_id = '${session}'`,
      /a renewal continues its agreement's chain/,
    );
  });
});

describe("app.act_on_decline()", () => {
  const act = (session: string, given: Partial<Record<"stopped" | "wait" | "status" | "all" | "link", string>>) => {
    const { stopped = "NULL", wait = "NULL", status = "NULL", all = "false", link = "false" } = given;
    return service.query(`SELECT * FROM app.act_on_decline('${session}', ${stopped}, ${wait}, ${status}, ${all}, ${link}, 'why')`);
  };
  const stateOf = ({ fingerprint }: AgreementRow) =>
    one(`SELECT stopped_because AS stopped, not_before > now() AS waits FROM card_state WHERE fingerprint = '${fingerprint}'`);

  it("stops the card, and lets it wait for the longest that was asked", async () => {
    const agreement = await agreementOf(owner);
    const { session } = await taken(service, agreement);
    await act(session, { wait: "3600000" });
    await act(session, { wait: "-1000" });
    expect(await stateOf(agreement)).toEqual({ stopped: null, waits: true });
    await act(session, { stopped: "'lost_or_stolen'" });
    expect(await stateOf(agreement)).toEqual({ stopped: "lost_or_stolen", waits: true });
  });

  it("cancels the agreement, or all of the card, and reports those that it changed", async () => {
    const agreement = await agreementOf(owner);
    const other = await agreementOf(owner, { of: agreement });
    const { session } = await taken(service, agreement);
    expect((await act(session, { status: "'NEEDS_CARD'" })).rows).toEqual([{ act_on_decline: agreement.id }]);
    expect((await act(session, { status: "'CANCELLED'" })).rows).toEqual([{ act_on_decline: agreement.id }]);
    expect((await act(session, { status: "'CANCELLED'", all: "true" })).rows).toEqual([{ act_on_decline: other.id }]);
    expect((await act(session, { status: "'CANCELLED'", all: "true" })).rows).toEqual([]);
  });

  it("leaves the renewal to its customer", async () => {
    const agreement = await agreementOf(owner);
    const first = await taken(service, agreement);
    await act(first.session, { link: "true" });
    await decline(owner, first);
    expect(await answerTo(taking(agreement))).toMatchObject({ refused: "link" });
    await refused(owner, run, `UPDATE renewal SET only_by_link = false WHERE ${renewalOf(agreement)}`, /stays so/);
  });
});

async function another() {
  const { Client } = await import("pg");
  const { connectionParameters } = service as unknown as { connectionParameters: { host: string; port: number; database: string; user: string; password: string } };
  const { host, port, database, user, password } = connectionParameters;
  const client = new Client({ host, port, database, user, password });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
