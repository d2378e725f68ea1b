/** Tests what the database refuses of refunds. The titles name the rules of docs/capture-refund-safety.md. */
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { connectToPaymentDatabase, paidPayment, refused, setAttempt, submitted } from "./payment-rows.fixture.ts";

const client = await connectToPaymentDatabase();

const paid = (amountMinor?: number, session?: string) => paidPayment(client, amountMinor, session);

const requested = (columns = "", values = "", amountMinor = 4900, id: string = v7()) =>
  `INSERT INTO refund (session_id, id, attempt_id, connection_id, gateway, amount_minor, currency, request_hash, next_try_at${columns})
   SELECT session_id, '${id}', id, connection_id, gateway, ${amountMinor}, currency, '\\x00', now()${values} FROM attempt WHERE id = $attempt`;
const own = "WHERE session_id = $session";
const sent = `UPDATE refund SET sends = 1, keys = 1, unanswered = 1, key_until = now() + interval '12 h', first_sent_at = now(), sent_at = now() ${own}`;
const accepted = `UPDATE refund SET status = 'PENDING', gateway_reference = id::text ${own}`;
const made = `UPDATE refund SET status = 'SUCCEEDED', gateway_reference = id::text, completed_at = now() ${own}`;
const failed = `UPDATE refund SET status = 'FAILED', failure_code = 'no', completed_at = now() ${own}`;

/** A refund to which these statements have happened. */
async function refunded(...statements: string[]) {
  const run = await paid();
  for (const statement of [requested(), ...statements]) await run(statement);
  return run;
}

describe("a refund", () => {
  it("is taken on, made, and may fail later", async () => {
    await refunded(sent, accepted, made, failed);
    await refunded(sent, failed);
    const run = await refunded(sent, failed);
    await run(requested());
  });

  it.each([
    ["R2: for more than was captured", requested("", "", 4901), /no more is refunded than was captured/],
    ["R1: that was sent before", requested(", sends, keys", ", 1, 1"), /committed before a byte leaves/],
    ["R1: that is made already", requested(", status", ", 'SUCCEEDED'"), /committed before a byte leaves/],
    [
      "R3: at another gateway",
      requested().replace("gateway, 4900", "'SANDBOX_B', 4900"),
      /goes where the money was captured/,
    ],
    ["R3: in another currency", requested().replace("currency, '", "'USD', '"), /goes where the money was captured/],
    ["of no amount", requested("", "", 0), /an amount is between/],
    ["for an unknown reason", requested(", reason", ", 'mood'"), /no refund has such a reason/],
    ["that no request asked for", requested().replace("'\\x00'", "NULL"), /knows its fields/],
    [
      "by hand without a reference",
      requested(", origin, status", ", 'GATEWAY', 'PENDING'").replace("'\\x00'", "NULL"),
      /was taken on has/,
    ],
  ])("does not begin %s", async (_, statement, wall) => {
    await refused(await paid(), statement, wall);
  });

  it("R2: counts what was captured, not what was held", async () => {
    await refused(await paid(900), requested("", "", 901), /no more is refunded than was captured/);
    await (await paid(900))(requested("", "", 900));
  });

  it("R2: counts every refund that has not failed", async () => {
    const run = await paid();
    await run(requested("", "", 3000));
    await refused(run, requested("", "", 1901), /no more is refunded than was captured/);
    await run(requested("", "", 1900));
  });

  it("R3: is of a payment that has succeeded", async () => {
    await refused(await submitted(client, "CAPTURING"), requested(), /of a captured payment/);
  });

  it("R7: is of no capture that failed", async () => {
    const run = await paid();
    await run(setAttempt("capture_failed_at = now()"));
    await refused(run, requested(), /nothing is refunded of a capture that failed/);
  });

  it("R7: is of one that stands again, while the ledger of the failure's day keeps its time", async () => {
    const run = await paid();
    const set = (change: string) => setAttempt(`${change}`);
    await run(set("capture_failed_at = now() - interval '1 day'"));
    await refused(run, set("capture_failed_at = NULL"), /the failure of a capture on a past day never changes/);
    const before = "capture_failed_at = NULL, capture_failed_before_at = capture_failed_at";
    await refused(run, set(before), /stands again after its failure/);
    await run(set(`${before}, capture_stands_at = now()`));
    await refused(run, set("capture_stands_at = now() + interval '1 s'"), /that stands again keeps its times/);
    await run(requested());
  });

  it.each([
    ["R1: without a reference", [sent], `UPDATE refund SET status = 'PENDING' ${own}`, /has the gateway's reference/],
    [
      "R4: once its key may be forgotten",
      [sent.replace("+ interval '12 h'", "- interval '1 s'")],
      `UPDATE refund SET sends = 2 ${own}`,
      /remembers its key/,
    ],
    [
      "R5: before a look-up, after an error that is kept",
      [sent, `UPDATE refund SET look_up_first = true ${own}`],
      `UPDATE refund SET sends = 2 ${own}`,
      /remembers its key/,
    ],
    [
      "R5: while a look-up that found nothing stands, for it says nothing about this request",
      [sent, `UPDATE refund SET absent_at = now() ${own}`],
      `UPDATE refund SET sends = 2, unanswered = 2 ${own}`,
      /what is sent now was not looked up/,
    ],
    [
      "R5: under a second key, before it was found absent",
      [sent],
      `UPDATE refund SET sends = 2, keys = 2 ${own}`,
      /a second key follows/,
    ],
    [
      "R5: under a third key",
      [sent, `UPDATE refund SET absent_at = now() ${own}`],
      `UPDATE refund SET sends = 3, keys = 3 ${own}`,
      /one after the other/,
    ],
    ["without a key", [], `UPDATE refund SET sends = 1, unanswered = 1 ${own}`, /a request has its key/],
    ["R5: without its count", [sent], `UPDATE refund SET sends = 2 ${own}`, /unanswered until an answer/],
    ["R5: counted twice", [sent], `UPDATE refund SET sends = 2, unanswered = 3 ${own}`, /unanswered until an answer/],
    ["R5: counted later", [sent], `UPDATE refund SET unanswered = 2 ${own}`, /unanswered until an answer/],
    ["once it is made", [sent, made], `UPDATE refund SET sends = 2 ${own}`, /only a refund that is requested/],
    [
      "once it has failed",
      [sent, failed],
      `UPDATE refund SET status = 'SUCCEEDED', gateway_reference = 'r' ${own}`,
      /illegal refund transition/,
    ],
    ["over another amount", [], `UPDATE refund SET amount_minor = 1 ${own}`, /asked for never changes/],
    [
      "under another reference",
      [sent, accepted],
      `UPDATE refund SET gateway_reference = 'other' ${own}`,
      /reference never changes/,
    ],
    [
      "with an end but no time",
      [sent],
      `UPDATE refund SET status = 'FAILED', failure_code = 'no' ${own}`,
      /has its time/,
    ],
    ["failed without a reason", [sent], `UPDATE refund SET status = 'FAILED', completed_at = now() ${own}`, /says why/],
  ])("is not changed %s", async (_, before, statement, wall) => {
    await refused(await refunded(...before), statement, wall);
  });

  it("R6: has a reference of its own", async () => {
    const run = await paid();
    const byHand = requested(
      ", origin, status, completed_at, gateway_reference",
      ", 'GATEWAY', 'SUCCEEDED', now(), 're_1'",
      10,
    );
    await run(byHand.replace("'\\x00'", "NULL"));
    await refused(run, byHand.replace("'\\x00'", "NULL").replace(/'[0-9a-f-]{36}'/, `'${v7()}'`), /gateway_reference/);
  });

  it("R2: is recorded where it was made by hand, however much it is", async () => {
    const run = await refunded();
    const more = requested(
      ", origin, status, completed_at, gateway_reference",
      ", 'GATEWAY', 'SUCCEEDED', now(), 're_2'",
      4000,
    );
    await run(more.replace("'\\x00'", "NULL"));
    const { rows } = await run(`SELECT sum(amount_minor)::int AS sum FROM refund ${own}`);
    expect(rows).toEqual([{ sum: 8900 }]);
  });

  it("R8: keeps its month while it is open or young", async () => {
    const months =
      "SELECT suffix, from_at AS at FROM app.partition_sets WHERE kind = 'payments' ORDER BY from_at DESC LIMIT 1";
    const [{ suffix, at }] = (await client.query(months)).rows;
    const run = await paid(4900, v7({ msecs: at.getTime() + 1 }));
    const isDone = async () =>
      (await client.query("SELECT app.is_set_done('payments', $1) AS done", [suffix])).rows[0].done;
    expect(await isDone()).toBe(true);
    const monthOld = requested(", created_at", ", now() - interval '31 days'");
    await run(monthOld);
    expect(await isDone()).toBe(false);
    await run(failed);
    expect(await isDone()).toBe(true);
    await run(requested());
    await run(`${failed} AND status = 'REQUESTED'`);
    expect(await isDone()).toBe(false);
  });
});
