/** Tests what the database refuses of payments that are captured later. The titles name the rules of docs/capture-refund-safety.md. */
import { v7 } from "uuid";
import { describe, it } from "vitest";
import {
  captured,
  connectToPaymentDatabase,
  ended,
  heldNow,
  newSession,
  opening,
  refused,
  setAttempt,
  setSession,
  submitted,
  succeeded,
  winning,
} from "./payment-rows.fixture.ts";

const client = await connectToPaymentDatabase();

const asked = setSession("capture_asked_at = now()");
const orderOf = (amountMinor: number | "NULL") =>
  setAttempt(`capture_ordered_at = now(), captured_amount_minor = ${amountMinor}`);
const voiding = setAttempt("status = 'VOIDING'");
const noWinner = setSession("winner_attempt_id = NULL");
const lapsed = ended("DECLINED").replace("card_declined", "capture_expired");

describe("a payment that is captured later", () => {
  it("is held, captured in part, or ended without a capture", async () => {
    const run = await submitted(client, "HELD");
    await run(`BEGIN; ${asked}; ${orderOf(900)}; COMMIT`);
    await run(`BEGIN; ${captured}; ${succeeded}; COMMIT`);
    const other = await submitted(client, "HELD");
    await other(`BEGIN; ${noWinner}; ${voiding}; ${lapsed}; COMMIT`);
  });

  it.each([
    ["C1: without being asked for", orderOf("NULL"), /captured only on an order/],
    ["C1: asked for, and not ordered", asked, /has its order and the time of it together/],
    ["C4: of more than is held", `${asked}; ${orderOf(4901)}`, /has an amount, at most the held one/],
    ["C4: of nothing", `${asked}; ${orderOf(0)}`, /has an amount, at most the held one/],
  ])("is not captured %s", async (_, statements, wall) => {
    await refused(await submitted(client, "HELD"), statements, wall);
  });

  it.each([
    ["C4: its amount", setAttempt("captured_amount_minor = 901"), /amount of an ordered capture/],
    ["C3: its time", setSession("capture_asked_at = now() + interval '1 s'"), /order about a hold is final/],
    ["C3: back to held", setSession("capture_asked_at = NULL"), /order about a hold is final/],
    ["C5: to an end", `${noWinner}; ${voiding}; ${lapsed}`, /never given up|cancelled or lapses/],
  ])("does not change once its capture is ordered: %s", async (_, statements, wall) => {
    const run = await submitted(client, "HELD");
    await run(`BEGIN; ${asked}; ${orderOf(900)}; COMMIT`);
    await refused(run, statements, wall);
  });

  const instead = (amounts: string, reason = "next_action = 'stop', next_because = 'found',") =>
    `${captured.replace("SET", `SET ${amounts}, ${reason}`)}; ${succeeded}`;
  const found = "captured_amount_minor = 901, ordered_amount_minor = 900";
  it("C4: is captured over another amount only at its end, beside what was ordered and with a reason", async () => {
    const run = await submitted(client, "HELD");
    await run(`BEGIN; ${asked}; ${orderOf(900)}; COMMIT`);
    const changed = /amount of an ordered capture/;
    const change = (columns: string) => setAttempt(`${columns}`);
    for (const statement of [
      instead("captured_amount_minor = 901"),
      instead("ordered_amount_minor = 899"),
      instead("captured_amount_minor = 901, ordered_amount_minor = 899"),
      instead(found, ""),
      change(`${found}, next_action = 'stop', next_because = 'found'`),
    ])
      await refused(run, statement, changed);
    const tooMuch = instead("captured_amount_minor = 4901, ordered_amount_minor = 900");
    await refused(run, tooMuch, /at most the held one/);
    await run(`BEGIN; ${instead(found)}; COMMIT`);
    for (const columns of ["captured_amount_minor = 900", "ordered_amount_minor = NULL"])
      await refused(run, change(columns), changed);
  });

  it.each([
    ["C2: without the hold's times", winning(), /a winner that is captured later is held/],
    [
      "C2: with its card",
      `${winning()}; ${heldNow.replace("vault_token = NULL,", "")}`,
      /needs neither card nor browser/,
    ],
    [
      "C2: that ends before it begins",
      `${winning()}; ${heldNow.replaceAll("+ interval", "- interval")}`,
      /has its beginning and its end/,
    ],
    ["C2: before there is a winner", heldNow, /only a winner is held/],
    [
      "C1: that is asked for at once",
      `${winning()}; ${setSession("capture_asked_at = now()")}`,
      /only a held payment takes an order/,
    ],
  ])("has no hold %s", async (_, statements, wall) => {
    await refused(await submitted(client, "AUTHORIZING", v7(), { isManual: true }), statements, wall);
  });

  it.each([
    ["C2: its beginning", setSession("held_at = now() - interval '1 s'"), /a hold begins once/],
    ["C7: its end", setSession("held_until = now() + interval '6 days'"), /its end never moves/],
    ["its reminder", setSession("capture_due_at = now() + interval '2 days'"), /reminded once/],
    ["its capture by hand", setSession("manual_capture = false"), /what was ordered never changes/],
    ["its captureBy", setSession("capture_by = now() + interval '4 days'"), /what was ordered never changes/],
    ["C5: its winner without an end", `${noWinner}; ${voiding}`, /ends with its session/],
    ["C5: another attempt", `${noWinner}; ${voiding}; ${opening(2)}`, /no attempt follows a hold/],
    ["its card", setSession("vault_token = 't'"), /needs neither card nor browser/],
    ["its browser", setSession("browser_sealed = 'b'"), /needs neither card nor browser/],
  ])("does not change while it is held: %s", async (_, statements, wall) => {
    await refused(await submitted(client, "HELD"), statements, wall);
  });

  it("has a captureBy after the submission", async () => {
    const insert = newSession({ manual_capture: "true", capture_by: "now() + interval '1 h'" });
    await refused((sql) => client.query(sql), insert, /a capture comes after the submission/);
  });
});

describe("a payment that is captured at once", () => {
  it.each([
    ["no hold", heldNow, /only a payment that is captured later is held/],
    ["no captureBy", setSession("capture_by = now() + interval '2 h'"), /what was ordered never changes/],
    ["no order of a part", orderOf(900), /captured in part/],
    [
      "no end by the merchant",
      `${noWinner}; ${voiding}; ${lapsed}`,
      /only a hold without an order is cancelled or lapses/,
    ],
  ])("has %s", async (_, statements, wall) => {
    await refused(await submitted(client, "AUTHORIZED"), statements, wall);
  });
});
