/** Tests what the database refuses of disputes, and of refunds beside them. The titles name the rules of docs/disputes.md. */
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { connectWithService, paidPayment, refused, submitted } from "./payment-rows.fixture.ts";

const { owner, service } = await connectWithService();

type Columns = Partial<
  Record<
    | "stage"
    | "status"
    | "amount"
    | "currency"
    | "reference"
    | "reason"
    | "respondBy"
    | "notices"
    | "gateway"
    | "askedAt",
    string
  >
>;

const idOf = (reference = "D1") => `md5($session::text || '${reference}')::uuid`;

/** What the service records of a dispute. */
function recorded(columns: Columns = {}) {
  const {
    stage = "CHARGEBACK",
    status = "NEEDS_RESPONSE",
    amount = "4900",
    currency = "EUR",
    reference = "D1",
  } = columns;
  const { reason = "other", respondBy = "NULL", notices = "[]", gateway = "SANDBOX_A", askedAt = "NULL" } = columns;
  return `SELECT FROM app.record_dispute($session, ${idOf(reference)}, $attempt, (SELECT connection_id FROM attempt WHERE id = $attempt),
    '${gateway}', '${reference}', '${stage}', '${status}', ${amount}, '${currency}', '${reason}', NULL, NULL, ${respondBy}, '${notices}', ${askedAt}, NULL)`;
}
const moved = (type: string, amount: number, currency = "EUR") =>
  `SELECT FROM app.insert_dispute_movement($session, ${idOf()}, '${type}', ${amount}, '${currency}')`;
const refund = (amountMinor: number, id: string = v7()) =>
  `SELECT FROM app.insert_refund($session, '${id}', $attempt, (SELECT connection_id FROM attempt WHERE id = $attempt), 'SANDBOX_A', ${amountMinor}, 'EUR',
     'REQUESTED', 'MERCHANT', NULL, NULL, NULL, '\\x00', NULL, NULL, NULL, false)`;
const byHand = (amountMinor: number) =>
  `SELECT FROM app.insert_refund($session, '${v7()}', $attempt, (SELECT connection_id FROM attempt WHERE id = $attempt), 'SANDBOX_A', ${amountMinor}, 'EUR',
     'SUCCEEDED', 'GATEWAY', NULL, NULL, NULL, NULL, '${v7()}', NULL, NULL, false)`;
const sent = (id: string) =>
  `SELECT FROM app.move_refund($session, '${id}', 'REQUESTED', '{"sends":1,"keys":1,"unanswered":1,"key_until":"2099-01-01"}', '{first_sent_at,sent_at}', false, NULL)`;
const made = (id: string) =>
  `SELECT FROM app.move_refund($session, '${id}', 'REQUESTED', '{"status":"SUCCEEDED","gateway_reference":"${id}"}', '{completed_at}', false, NULL)`;
const failed = (id: string) =>
  `SELECT FROM app.move_refund($session, '${id}', 'REQUESTED', '{"status":"FAILED","failure_code":"no"}', '{completed_at}', false, NULL)`;

/** A payment of 49.00 EUR to which these statements of the service have happened. */
async function disputed(...statements: string[]) {
  const payment = await paidPayment(owner);
  const ids = await payment("SELECT $session::uuid AS session, $attempt::uuid AS attempt");
  const { session, attempt } = ids.rows[0];
  const run = (sql: string) =>
    service.query(sql.replaceAll("$session", `'${session}'`).replaceAll("$attempt", `'${attempt}'`));
  for (const statement of statements) await run(statement);
  return run;
}
type Run = Awaited<ReturnType<typeof disputed>>;
const rowOf = async (run: Run) =>
  (
    await run(
      "SELECT held_minor::int AS held, overlap_minor::int AS overlap, closed_at IS NOT NULL AS closed FROM dispute WHERE session_id = $session",
    )
  ).rows[0];

describe("a dispute", () => {
  it.each([
    ["FRAUD_WARNING", "CLOSED", 0],
    ["INQUIRY", "NEEDS_RESPONSE", 0],
    ["INQUIRY", "CLOSED", 0],
    ["INQUIRY", "ACCEPTED", 4900],
    ["CHARGEBACK", "NEEDS_RESPONSE", 4900],
    ["CHARGEBACK", "UNDER_REVIEW", 4900],
    ["CHARGEBACK", "LOST", 4900],
    ["CHARGEBACK", "WON", 0],
    ["PRE_ARBITRATION", "UNDER_REVIEW", 4900],
    ["PRE_ARBITRATION", "CLOSED", 0],
  ])("in %s, %s holds %i", async (stage, status, held) => {
    expect(await rowOf(await disputed(recorded({ stage, status })))).toMatchObject({ held, overlap: 0 });
  });

  it("holds at most what was captured, and all of it in another currency", async () => {
    expect(await rowOf(await disputed(recorded({ amount: "9900" })))).toMatchObject({ held: 4900 });
    expect(await rowOf(await disputed(recorded({ amount: "1", currency: "USD" })))).toMatchObject({ held: 4900 });
    expect(await rowOf(await disputed(recorded({ amount: "1000" })))).toMatchObject({ held: 1000 });
  });

  it.each<[string, string[], number]>([
    ["nothing more came back", [moved("CHARGEBACK", 4900), moved("CHARGEBACK_REVERSED", 1000)], 3900],
    ["it was taken again", [moved("CHARGEBACK", 9800), moved("CHARGEBACK_REVERSED", 4900)], 4900],
    ["all came back", [moved("CHARGEBACK", 4900), moved("CHARGEBACK_REVERSED", 4900)], 0],
    ["more was taken than captured", [moved("CHARGEBACK", 9900)], 4900],
    ["another currency was taken", [moved("CHARGEBACK", 100, "USD")], 4900],
    ["another currency came back", [moved("CHARGEBACK", 100, "USD"), moved("CHARGEBACK_REVERSED", 100, "USD")], 0],
  ])("D2: that is won holds what was taken and did not come back: %s", async (_, movements, held) => {
    expect(await rowOf(await disputed(recorded({ status: "WON" }), ...movements))).toMatchObject({ held });
    expect(await rowOf(await disputed(recorded(), ...movements, recorded({ status: "WON" })))).toMatchObject({ held });
  });

  it("D2: holds what was taken where its amount is less", async () => {
    const run = await disputed(recorded({ amount: "1000", status: "LOST" }), moved("CHARGEBACK", 4900));
    expect(await rowOf(run)).toMatchObject({ held: 4900 });
    await run(recorded({ amount: "1000" }));
    expect(await rowOf(run)).toMatchObject({ held: 4900 });
  });

  it("D1: has one row, beside the warning that bears its reference", async () => {
    const run = await disputed(recorded());
    const other = recorded().replace(idOf(), `'${v7()}'`);
    await refused(run, other, /dispute_gateway_reference|duplicate key/);
    await run(recorded({ stage: "FRAUD_WARNING", status: "CLOSED" }).replace(idOf(), `'${v7()}'`));
    const { rows } = await run("SELECT disputes FROM payment_session WHERE id = $session");
    expect(rows).toEqual([{ disputes: 2 }]);
  });

  it("D1: is of a captured payment", async () => {
    const run = await submitted(owner, "AUTHORIZED");
    await refused(run, recorded(), /a dispute is of a captured payment/);
  });

  it.each<[string, Columns, RegExp]>([
    ["D1: at another gateway", { gateway: "ADYEN" }, /where the money was captured/],
    ["in no stage", { stage: "MOOD" }, /no dispute has such a stage/],
    ["in no status", { status: "MOOD" }, /no dispute has such a status/],
    ["for no reason", { reason: "mood" }, /no dispute has such a reason/],
    ["of less than nothing", { amount: "-1" }, /not negative/],
    ["as a warning that is open", { stage: "FRAUD_WARNING" }, /closed at once/],
  ])("is not recorded %s", async (_, columns, wall) => {
    await refused(await disputed(), recorded(columns), wall);
  });

  it.each<[string, Columns, Columns, RegExp]>([
    [
      "D6: a later deadline",
      { respondBy: "'2026-12-01'" },
      { respondBy: "'2026-12-02'" },
      /moves a deadline earlier only/,
    ],
    ["D6: no deadline", { respondBy: "'2026-12-01'" }, {}, /moves a deadline earlier only/],
    ["D5: an older reading", { askedAt: "'2026-12-02'" }, { askedAt: "'2026-12-01'" }, /an older reading of a dispute/],
    ["D5: a notice over a reading", { askedAt: "'2026-12-02'" }, {}, /an older reading of a dispute/],
    ["D5: fewer notices", { notices: '[{"event":"charged"}]' }, {}, /what a gateway has reported stays/],
    [
      "D2: the end of a warning",
      { stage: "FRAUD_WARNING", status: "CLOSED" },
      {},
      /what a dispute is about never changes/,
    ],
  ])("never gets %s", async (_, before, after, wall) => {
    await refused(await disputed(recorded(before)), recorded(after), wall);
  });

  it("D6: has the deadline that is read, also a later one", async () => {
    const run = await disputed(recorded({ respondBy: "'2026-12-01'", askedAt: "'2026-11-01'" }));
    await run(recorded({ respondBy: "'2026-12-05'", askedAt: "'2026-11-02'" }));
    const { rows } = await run("SELECT respond_by::date::text AS by FROM dispute WHERE session_id = $session");
    expect(rows).toEqual([{ by: "2026-12-05" }]);
  });

  it("changes when what is read differs, and is marked once for each deadline", async () => {
    const run = await disputed(recorded({ askedAt: "'2026-11-01'" }));
    const changedAt = async () =>
      (await run("SELECT updated_at::text AS at FROM dispute WHERE session_id = $session")).rows[0].at;
    const marked = async () => (await run(`SELECT app.mark_dispute_due($session, ${idOf()})`)).rowCount;
    const before = await changedAt();
    await run(recorded({ askedAt: "'2026-11-02'" }));
    expect(await changedAt()).toBe(before);
    expect([await marked(), await marked()]).toEqual([1, 0]);
    await run(recorded({ askedAt: "'2026-11-03'", stage: "PRE_ARBITRATION" }));
    expect(await changedAt()).not.toBe(before);
    expect(await marked()).toBe(1);
  });

  it("D6: gets an earlier deadline, and another one in another stage", async () => {
    const run = await disputed(recorded({ stage: "INQUIRY", respondBy: "'2026-12-01'" }));
    await run(recorded({ stage: "INQUIRY", respondBy: "'2026-11-30'" }));
    await run(recorded({ respondBy: "'2026-12-20'" }));
  });

  it("has its end, and none once it turns", async () => {
    const run = await disputed(recorded({ status: "WON" }));
    expect(await rowOf(run)).toMatchObject({ closed: true });
    await run(recorded({ status: "UNDER_REVIEW" }));
    expect(await rowOf(run)).toMatchObject({ closed: false });
  });
});

describe("a refund beside a dispute", () => {
  const wall = /what a dispute holds is not refunded/;

  it("D2: pays back nothing that a dispute holds", async () => {
    await refused(await disputed(recorded()), refund(1), wall);
    const part = await disputed(recorded({ amount: "1000" }));
    await refused(part, refund(3901), wall);
    await part(refund(3900));
  });

  it("D2: is made of a payment with an inquiry, and of one whose dispute was won", async () => {
    await (await disputed(recorded({ stage: "INQUIRY" })))(refund(4900));
    await (await disputed(recorded(), recorded({ status: "WON" })))(refund(4900));
  });

  it("D2: counts with every dispute of the payment", async () => {
    const run = await disputed(recorded({ amount: "2000" }), recorded({ amount: "1000", reference: "D2" }));
    await refused(run, refund(1901), wall);
    await run(refund(1900));
  });

  it("D3: is not sent once a dispute holds its money, and is when that ends", async () => {
    const id = v7();
    const run = await disputed(refund(4900, id), recorded());
    await refused(run, sent(id), /nothing is sent of what a dispute holds/);
    await run(recorded({ status: "WON" }));
    await run(sent(id));
  });

  it("D4: that was there first is named as an overlap, until it fails", async () => {
    const id = v7();
    const run = await disputed(refund(4000, id), sent(id), recorded());
    expect(await rowOf(run)).toMatchObject({ held: 4900, overlap: 4000 });
    await run(failed(id));
    expect(await rowOf(run)).toMatchObject({ held: 4900, overlap: 0 });
  });

  it("D4: that was never sent overlaps nothing, until it was made all the same", async () => {
    const id = v7();
    const run = await disputed(refund(4000, id), recorded());
    expect(await rowOf(run)).toMatchObject({ held: 4900, overlap: 0 });
    await run(made(id));
    expect(await rowOf(run)).toMatchObject({ held: 4900, overlap: 4000 });
  });

  it("D4: made at the gateway is never refused, and overlaps", async () => {
    const run = await disputed(recorded(), byHand(900));
    expect(await rowOf(run)).toMatchObject({ held: 4900, overlap: 900 });
  });
});

const answered = (type: "ACCEPT" | "EVIDENCE", id: string) =>
  `SELECT FROM app.insert_dispute_response($session, '${id}', ${idOf()}, '${type}', NULL, '\\x00', NULL, '[]', NULL, 0)`;
const asked = (id: string) => `SELECT * FROM app.send_dispute_response($session, '${id}', 0)`;
const ended = (id: string, as: string, failure = "NULL") =>
  `SELECT * FROM app.move_dispute_response($session, '${id}', '${as}', ${failure}, NULL)`;

describe("a response to a dispute", () => {
  it("D7: is the only one in effect in its stage, until it is refused", async () => {
    const [first, second] = [v7(), v7()];
    const run = await disputed(recorded(), answered("EVIDENCE", first));
    await refused(run, answered("ACCEPT", second), /dispute_response_in_effect/);
    await run(asked(first));
    await run(ended(first, "REFUSED", "'no'"));
    await run(answered("ACCEPT", second));
    await run(recorded({ stage: "PRE_ARBITRATION" }));
    await run(answered("EVIDENCE", v7()));
  });

  it("D7: is sent while nobody knows its end, and ends once", async () => {
    const id = v7();
    const run = await disputed(recorded(), answered("EVIDENCE", id), asked(id), asked(id), ended(id, "TAKEN"));
    expect((await run(asked(id))).rows).toEqual([]);
    expect((await run(ended(id, "REFUSED", "'no'"))).rows).toEqual([]);
  });

  it.each([
    ["back to its beginning", "SET status = 'REQUESTED', answered_at = NULL"],
    ["to the other end", "SET status = 'REFUSED', failure_code = 'no'"],
    ["to other fields", "SET request_hash = '\\x01'"],
    ["to another request", "SET sends = sends + 1"],
  ])("D7: never goes %s", async (_, change) => {
    const id = v7();
    const run = await disputed(recorded(), answered("EVIDENCE", id), asked(id), ended(id, "TAKEN"));
    const ids = (await run("SELECT $session::uuid AS session")).rows[0];
    await expect(owner.query(`UPDATE dispute_response ${change} WHERE session_id = '${ids.session}'`)).rejects.toThrow(
      /illegal transition|never changes|only a response that is requested/,
    );
  });

  it("is of a dispute that needs one", async () => {
    const run = await disputed(recorded({ status: "UNDER_REVIEW" }));
    await refused(run, answered("EVIDENCE", v7()), /only a dispute that needs a response/);
  });

  it("D2: that accepts holds the amount from the commit on, until it is refused", async () => {
    const id = v7();
    const run = await disputed(recorded({ stage: "INQUIRY" }), answered("ACCEPT", id));
    expect(await rowOf(run)).toMatchObject({ held: 4900 });
    await refused(run, refund(1), /what a dispute holds is not refunded/);
    await run(ended(id, "REFUSED", "'no'"));
    expect(await rowOf(run)).toMatchObject({ held: 0 });
    await run(refund(4900));
  });

  it("D2: accepts nothing that refunds have paid back", async () => {
    const id = v7();
    const run = await disputed(recorded({ stage: "INQUIRY", amount: "2000" }), refund(2901, id));
    await refused(run, answered("ACCEPT", v7()), /not given up again/);
    await run(failed(id));
    await run(answered("ACCEPT", v7()));
  });
});

describe("an owner's word about a dispute", () => {
  const decided = (status: string) =>
    `SELECT * FROM app.decide_dispute($session, ${idOf()}, '{"status":"${status}","by":"an owner","reason":"silent"}')`;

  it("ends one that is open, and what was taken came back where it was won", async () => {
    const run = await disputed(recorded({ status: "UNDER_REVIEW" }), moved("CHARGEBACK", 4900));
    expect((await run(decided("WON"))).rows).toHaveLength(1);
    expect(await rowOf(run)).toMatchObject({ held: 0, closed: true });
    expect((await run(decided("LOST"))).rows).toEqual([]);
    // A later report outweighs it.
    await run(recorded({ status: "LOST" }));
    expect(await rowOf(run)).toMatchObject({ held: 4900 });
  });

  it("says that it was won or lost", async () => {
    await refused(await disputed(recorded()), decided("CLOSED"), /was won or lost/);
  });
});

describe("an owner's word that a refund settled a dispute", () => {
  const linked = (reference = "D1", why = "'seen'", which = "true") =>
    `SELECT * FROM app.link_dispute_refund($session, ${idOf(reference)}, (SELECT id FROM refund WHERE session_id = $session AND ${which} LIMIT 1), 'an owner', ${why})`;
  const lost = recorded({ status: "LOST", amount: "2000" });

  it("D10: leaves the dispute nothing to hold, and its chargeback comes back", async () => {
    const run = await disputed(recorded({ status: "LOST", amount: "2000" }), moved("CHARGEBACK", 2000), byHand(2000));
    expect(await rowOf(run)).toMatchObject({ held: 2000, overlap: 0 });
    await run(byHand(2900));
    expect(await rowOf(run)).toMatchObject({ held: 2000, overlap: 2000 });
    expect((await run(linked("D1", "'seen'", "amount_minor = 2000"))).rows).toHaveLength(1);
    expect(await rowOf(run)).toMatchObject({ held: 0, overlap: 0 });
    const { rows } = await run(
      "SELECT type, amount_minor::int AS minor FROM dispute_movement WHERE session_id = $session ORDER BY ordinal",
    );
    expect(rows).toEqual([
      { type: "CHARGEBACK", minor: 2000 },
      { type: "CHARGEBACK_REVERSED", minor: 2000 },
    ]);
    expect((await run(linked("D1", "'seen'", "amount_minor = 2000"))).rows).toEqual([]);
  });

  const rule = /an owner records once, and why, that a refund made at the gateway settled a lost dispute of its amount/;
  it.each<[string, string[], string]>([
    ["a refund of ours", [refund(2000), lost], linked()],
    ["a refund of another amount", [lost, byHand(1999)], linked()],
    ["a dispute that is open", [recorded({ amount: "2000" }), byHand(2000)], linked()],
    ["a dispute that is not the payment's", [lost, byHand(2000)], linked("D2")],
    ["without a reason", [lost, byHand(2000)], linked("D1", "NULL")],
  ])("D10: is refused of %s", async (_, statements, change) => {
    await refused(await disputed(...statements), change, rule);
  });

  it("D10: is refused of a second refund, and never changes", async () => {
    const run = await disputed(lost, byHand(2000), linked(), byHand(2000));
    await refused(run, linked("D1", "'seen'", "dispute_id IS NULL"), rule);
    const { rows } = await run("SELECT id FROM refund WHERE session_id = $session AND dispute_id IS NOT NULL");
    const change = "UPDATE refund SET dispute_reason = 'other' WHERE id = $1";
    await expect(owner.query(change, [rows[0].id])).rejects.toThrow(rule);
  });
});

it("D9: keeps its month while it has changed lately, and for 240 days while it is open", async () => {
  const months =
    "SELECT suffix, from_at AS at FROM app.partition_sets WHERE kind = 'payments' ORDER BY from_at DESC LIMIT 1";
  const [{ suffix, at }] = (await owner.query(months)).rows;
  const run = await paidPayment(owner, 4900, v7({ msecs: at.getTime() + 1 }));
  const isDone = async () =>
    (await owner.query("SELECT app.is_set_done('payments', $1) AS done", [suffix])).rows[0].done;
  const set = (days: number) =>
    `UPDATE dispute SET updated_at = now() - interval '${days} days' WHERE session_id = $session`;
  const old = set(31);
  expect(await isDone()).toBe(true);
  await run(recorded());
  await run(old);
  expect(await isDone()).toBe(false);
  await run(set(239));
  expect(await isDone()).toBe(false);
  await run(set(241));
  expect(await isDone()).toBe(true);
  await run(recorded({ status: "LOST" }));
  expect(await isDone()).toBe(false);
  await run(old);
  expect(await isDone()).toBe(true);
});

describe("a movement of a dispute", () => {
  const taken = moved("CHARGEBACK", 4900);

  it("D8: is numbered, with the dispute's merchant and gateway", async () => {
    const run = await disputed(recorded(), taken, moved("CHARGEBACK_REVERSED", 4900), taken);
    const { rows } =
      await run(`SELECT ordinal, type, gateway, merchant_id = (SELECT merchant_id FROM dispute d WHERE d.session_id = m.session_id) AS "isSame"
      FROM dispute_movement m WHERE session_id = $session ORDER BY ordinal`);
    expect(rows).toEqual([
      { ordinal: 1, type: "CHARGEBACK", gateway: "SANDBOX_A", isSame: true },
      { ordinal: 2, type: "CHARGEBACK_REVERSED", gateway: "SANDBOX_A", isSame: true },
      { ordinal: 3, type: "CHARGEBACK", gateway: "SANDBOX_A", isSame: true },
    ]);
  });

  it.each([
    ["more than was taken", moved("CHARGEBACK_REVERSED", 4901), /no more comes back than was taken/],
    ["in another currency than was taken", moved("CHARGEBACK_REVERSED", 1, "USD"), /no more comes back than was taken/],
    ["nothing", moved("CHARGEBACK", 0), /has an amount/],
    ["a gift", moved("GIFT", 1), /has such a type/],
  ])("D8: is not %s", async (_, statement, wall) => {
    await refused(await disputed(recorded(), taken), statement, wall);
  });

  it.each(["UPDATE dispute_movement SET amount_minor = 1", "DELETE FROM dispute_movement"])(
    "D8: stays, whoever asks: %s",
    async (change) => {
      await disputed(recorded(), taken);
      await expect(owner.query(change)).rejects.toThrow(/never changed/);
      await expect(service.query(change)).rejects.toThrow(/permission denied/);
    },
  );
});
