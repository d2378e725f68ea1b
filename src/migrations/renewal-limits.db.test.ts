/** Tests that the database keeps what banks, networks and the customer allow, and counts each try: S5 and S6 of docs/subscriptions.md. */
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { opening, refused } from "./payment-rows.fixture.ts";
import {
  type AgreementRow,
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

/** Stores so many declines of a card within the last minutes, or from an interval ago on. */
const declines = ({ merchant, fingerprint }: AgreementRow, count: number, ago = "1 min") =>
  owner.query(`INSERT INTO card_decline (merchant_id, fingerprint, attempt_id, declined_at, by_customer)
    SELECT '${merchant}', '${fingerprint}', gen_random_uuid(), now() - interval '${ago}' - n * interval '1 s', false FROM generate_series(1, ${count}) n`);

describe("S5: no renewal", () => {
  const stop = ({ merchant, fingerprint }: AgreementRow, set: string) =>
    owner.query(`INSERT INTO card_state (merchant_id, fingerprint) VALUES ('${merchant}', '${fingerprint}') ON CONFLICT DO NOTHING;
      UPDATE card_state SET ${set} WHERE merchant_id = '${merchant}' AND fingerprint = '${fingerprint}'`);

  const cases = [
    {
      of: "a stopped card",
      with: (a: AgreementRow) => stop(a, "stopped_at = now(), stopped_because = 'lost_or_stolen'"),
      refused: "stopped",
    },
    {
      of: "a card that has to wait",
      with: (a: AgreementRow) => stop(a, "not_before = now() + interval '1 h'"),
      refused: "waits",
      until: true,
    },
    {
      of: "a card declined 15 times in a month",
      with: (a: AgreementRow) => declines(a, 15, "29 days"),
      refused: "limit",
      until: true,
    },
    {
      of: "a Mastercard declined 10 times in a day",
      brand: "mastercard",
      with: (a: AgreementRow) => declines(a, 10, "23 h"),
      refused: "limit",
      until: true,
    },
    {
      of: "a Mastercard declined 35 times in a month",
      brand: "mastercard",
      with: (a: AgreementRow) => declines(a, 35, "29 days"),
      refused: "limit",
      until: true,
    },
    { of: "a cancelled agreement", terms: "status = 'CANCELLED', ended_at = now()", refused: "cancelled" },
    { of: "an agreement without a card", terms: "status = 'NEEDS_CARD', status_because = 'x'", refused: "needs_card" },
    { of: "more than was agreed", terms: "max_amount_minor = 899", refused: "amount" },
    { of: "an agreement past its last day", terms: "type = 'RECURRING', ends_on = '2020-01-01'", refused: "over" },
    { of: "a renewal that its customer has to pay", with: (a: AgreementRow) => link(a), refused: "link" },
  ];
  const link = ({ id, merchant }: AgreementRow) =>
    owner.query(
      `INSERT INTO renewal (agreement_id, renewal_ref, merchant_id, only_by_link) VALUES ('${id}', 'r1', '${merchant}', true)`,
    );

  it.each(cases)("of $of is begun", async ({ with: change, terms, brand, refused: reason, until = false }) => {
    const agreement = await agreementOf(owner, { ...(terms && { terms }), ...(brand && { brand }) });
    await change?.(agreement);
    const answer = await answerTo(taking(agreement));
    expect(answer).toMatchObject({ refused: reason, until: until ? expect.any(Date) : null, attempt: null });
    expect(
      await one(
        `SELECT count(*)::int AS sessions FROM stored_payment WHERE agreement_id = '${agreement.id}' AND role = 'RENEWAL'`,
      ),
    ).toEqual({ sessions: 0 });
  });

  // What a running renewal has sent is not undone, but nothing follows it.
  const meanwhile = [
    ...cases
      .filter(({ refused: reason }) => ["stopped", "waits", "limit"].includes(reason))
      .map((one) => ({ ...one, reason: /no renewal of a card/ })),
    {
      of: "a renewal that its customer has to pay",
      brand: undefined,
      with: (a: AgreementRow) => owner.query(`UPDATE renewal SET only_by_link = true WHERE agreement_id = '${a.id}'`),
      reason: /only its customer/,
    },
    {
      of: "more than was agreed",
      brand: undefined,
      with: (a: AgreementRow) =>
        owner.query(`ALTER TABLE agreement DISABLE TRIGGER USER;
      UPDATE agreement SET max_amount_minor = 899 WHERE id = '${a.id}'; ALTER TABLE agreement ENABLE TRIGGER USER`),
      reason: /within its agreement/,
    },
  ];
  it.each(meanwhile)("of $of goes on to another gateway", async ({ with: change, brand, reason }) => {
    const agreement = await agreementOf(owner, { ...(brand && { brand }) });
    const { session } = await taken(service, agreement);
    await run(
      `UPDATE attempt SET status = 'FAILED', failure_kind = 'GATEWAY_ERROR', completed_at = now() WHERE session_id = '${session}'`,
    );
    await change!(agreement);
    const connection = v7();
    const { name } = await one(
      `SELECT app.attempt_name(named_by, '${connection}', 0) AS name FROM payment_session WHERE id = '${session}'`,
    );
    const open = opening(2, { id: name, amount: 900, connection }).replaceAll("$session", `'${session}'`);
    await refused(run, open, reason);
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
    const agreement = await agreementOf(owner, {
      terms: "type = 'INSTALMENT', ends_on = now() + interval '1 year', instalments = 3",
    });
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
    // A new row would make them wait for one another by itself.
    await owner.query(`INSERT INTO card_state (merchant_id, fingerprint)
      SELECT m.merchant_id, m.fingerprint FROM payment_method m WHERE m.id = '${agreement.method}' ON CONFLICT DO NOTHING`);
    const others: AgreementRow[] = [];
    for (let nth = 0; nth < 6; nth++) others.push(await agreementOf(owner, { of: agreement }));
    const clients = await Promise.all(others.map(() => connectAgain(service)));
    const answers = await Promise.all(
      others.map(async (other, index) => ((await clients[index]!.query(taking(other))).rows as Answer[])[0]!),
    );
    expect(answers.map(({ refused }) => refused).toSorted()).toEqual([
      "limit",
      "limit",
      "limit",
      "limit",
      "limit",
      null,
    ]);
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
    [
      "counts when it is declined",
      "UPDATE attempt SET status = 'DECLINED', failure_kind = 'SOFT_DECLINE', completed_at = now() WHERE session_id = $session",
      1,
    ],
    [
      "counts when it is not answered",
      "UPDATE attempt SET status = 'UNKNOWN', failure_kind = 'TIMEOUT' WHERE session_id = $session",
      1,
    ],
    [
      "counts no longer when no gateway processed it",
      "UPDATE attempt SET status = 'FAILED', failure_kind = 'GATEWAY_ERROR', completed_at = now() WHERE session_id = $session",
      0,
    ],
    [
      "counts no longer when it holds",
      "SELECT FROM app.held($session, 1, $attempt, now(), gen_random_uuid()::text, NULL, 20000, 10000, NULL, NULL)",
      0,
    ],
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

describe("app.act_on_decline()", () => {
  const act = (session: string, given: Partial<Record<"stopped" | "wait" | "status" | "all" | "link", string>>) => {
    const { stopped = "NULL", wait = "NULL", status = "NULL", all = "false", link = "false" } = given;
    return service.query(
      `SELECT * FROM app.act_on_decline('${session}', ${stopped}, ${wait}, ${status}, ${all}, ${link}, 'why')`,
    );
  };
  const stateOf = ({ fingerprint }: AgreementRow) =>
    one(
      `SELECT stopped_because AS stopped, not_before > now() AS waits FROM card_state WHERE fingerprint = '${fingerprint}'`,
    );

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
    await refused(run, `UPDATE renewal SET only_by_link = false WHERE ${renewalOf(agreement)}`, /stays so/);
  });
});
