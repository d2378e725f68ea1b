/** Tests that the database pays a renewal once, under its names, by its chain and without a customer: S3, S4, S7 and S8 of docs/subscriptions.md. */
import { v7 } from "uuid";
import { describe, expect, it, onTestFinished } from "vitest";
import { attemptIdOf, deriveId } from "../core/record/open-attempt.ts";
import { opening, refused } from "./payment-rows.fixture.ts";
import {
  type Answer,
  agreementOf,
  capture,
  connectAgain,
  connectForRenewals,
  decline,
  renewalOf,
  taken,
  taking,
} from "./renewal-rows.fixture.ts";

const { owner, service, answerTo, one, run } = await connectForRenewals();

describe("S3: a renewal", () => {
  it("is taken by one session, whose attempt is open, and a second key is told whose it is", async () => {
    const agreement = await agreementOf(owner);
    const first = await taken(service, agreement, { key: "k1" });
    expect(await answerTo(taking(agreement, { key: "k2" }))).toMatchObject({
      refused: "in_progress",
      other: first.session,
    });
    expect(
      await one(
        `SELECT s.phase, s.lease_epoch AS epoch, s.stored, a.status, a.id FROM payment_session s JOIN attempt a ON a.session_id = s.id WHERE s.id = '${first.session}'`,
      ),
    ).toEqual({ phase: "PROCESSING", epoch: 1, stored: true, status: "AUTHORIZING", id: first.attempt });
    expect(
      await one(
        `SELECT count(*)::int AS sessions FROM stored_payment WHERE agreement_id = '${agreement.id}' AND role = 'RENEWAL'`,
      ),
    ).toEqual({ sessions: 1 });
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
    expect(await one(`SELECT session_id AS session, tries FROM renewal WHERE ${renewalOf(agreement)}`)).toEqual({
      session: second.session,
      tries: 2,
    });
  });

  it("is paid with the commit of its capture, and never again", async () => {
    const agreement = await agreementOf(owner);
    const first = await taken(service, agreement);
    await capture(service, first);
    expect(await one(`SELECT paid_session_id AS paid FROM renewal WHERE ${renewalOf(agreement)}`)).toEqual({
      paid: first.session,
    });
    expect(await answerTo(taking(agreement))).toMatchObject({ refused: "paid", other: first.session });
  });

  it("is taken once by many at the same time", async () => {
    const agreement = await agreementOf(owner);
    const clients = await Promise.all(Array.from({ length: 8 }, () => connectAgain(service)));
    const answers = await Promise.all(
      clients.map(async (client) => ((await client.query(taking(agreement))).rows as Answer[])[0]!),
    );
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
    await refused(run, `UPDATE renewal SET ${set} WHERE ${renewalOf(agreement)}`, reason);
  });

  it("never changes once it is paid", async () => {
    const agreement = await agreementOf(owner);
    await capture(service, await taken(service, agreement));
    for (const change of [
      "session_id = gen_random_uuid(), tries = 2, paid_session_id = NULL",
      "only_by_link = true",
      "paid_session_id = NULL",
    ])
      await refused(run, `UPDATE renewal SET ${change} WHERE ${renewalOf(agreement)}`, /a paid renewal never changes/);
  });

  it("begins without a try", async () => {
    const { id, merchant } = await agreementOf(owner);
    const insert = `INSERT INTO renewal (agreement_id, renewal_ref, merchant_id, tries) VALUES ('${id}', 'r9', '${merchant}', 1)`;
    await refused(run, insert, /begins without a try/);
  });

  it("lets no session make an attempt that lost it", async () => {
    const agreement = await agreementOf(owner);
    const { session } = await taken(service, agreement);
    await run(`ALTER TABLE renewal DISABLE TRIGGER USER; UPDATE renewal SET session_id = gen_random_uuid() WHERE ${renewalOf(agreement)};
      ALTER TABLE renewal ENABLE TRIGGER USER`);
    await run(
      `UPDATE attempt SET status = 'FAILED', failure_kind = 'GATEWAY_ERROR', completed_at = now() WHERE session_id = '${session}'`,
    );
    await refused(
      run,
      opening(2, { amount: 900 }).replaceAll("$session", `'${session}'`),
      /the renewal is another session's/,
    );
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
    const row =
      await one(`SELECT unrecorded_check_at > clock_timestamp() AS "waits", submit_deadline - submitted_at > interval '9 min' AS "hasTime", named_by AS "namedBy"
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
    expect(await one(`SELECT app.attempt_name('${namedBy}', '${agreement.ownConnection}', 2) AS id`)).toEqual({
      id: retry,
    });
  });

  it("never change, and no attempt has another one", async () => {
    const agreement = await agreementOf(owner);
    const { session } = await taken(service, agreement);
    await refused(
      run,
      `UPDATE payment_session SET named_by = NULL WHERE id = '${session}'`,
      /what was ordered never changes/,
    );
    await run(
      `UPDATE attempt SET status = 'FAILED', failure_kind = 'GATEWAY_ERROR', completed_at = now() WHERE session_id = '${session}'`,
    );
    await refused(
      run,
      opening(2, { amount: 900 }).replaceAll("$session", `'${session}'`),
      /an attempt of a renewal has its name/,
    );
  });

  it("are those of its try", async () => {
    const agreement = await agreementOf(owner);
    const { session } = await taken(service, agreement);
    const copy = v7();
    await refused(
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

describe("S7: a renewal", () => {
  it.each(["browser_sealed = 'b'", "awaiting_since = now(), authentications = 1", "authentications = 1"])(
    "has no customer: %s",
    async (set) => {
      const { session } = await taken(service, await agreementOf(owner));
      await refused(
        run,
        `UPDATE payment_session SET ${set} WHERE id = '${session}'`,
        /a renewal has no customer to ask/,
      );
    },
  );
});

describe("S8: a renewal", () => {
  it("goes on at the account of its chain, or with a network transaction id", async () => {
    const own = await agreementOf(owner, { terms: "network_transaction_id = NULL" });
    const session = v7();
    await expect(service.query(taking(own, { session, connection: v7() }))).rejects.toThrow(
      "a gateway continues its own chain, or one with a network transaction id",
    );
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
