/** Tests what the database refuses of payments by wallets. The titles name the rules of docs/safety.md. */
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import {
  awaited,
  connectWithService,
  newSession,
  opening,
  refused,
  setAttempt,
  setSession,
  submitted,
} from "./payment-rows.fixture.ts";

const { owner: client, service } = await connectWithService();

/** A submitted session whose first attempt was made with what a wallet gave, and has come to this. */
async function paidBy(
  first: "AUTHORIZING" | "UNKNOWN" | "DECLINED" | "FRAUD",
  { credential = "NETWORK_TOKEN", resend = "UNANSWERED" } = {},
) {
  const session = v7();
  const run = await submitted(client, first, session);
  // As a claim does, before any guard sees the session.
  await run(`BEGIN; SET LOCAL session_replication_role = replica;
    UPDATE payment_session SET wallet_credential = '${credential}', cryptogram_resend = '${resend}', wallet = 'apple_pay' WHERE id = $session; COMMIT`);
  return run;
}

const next = opening(2);
const set = (columns: string) => setSession(`${columns}`);
const lookedUp = setAttempt("looked_up_at = now()");
const failed = setAttempt("status = 'FAILED', completed_at = now(), failure_kind = 'GATEWAY_ERROR'");
const voiding = setAttempt("status = 'VOIDING'");

describe("W6: a second use of a cryptogram", () => {
  it.each(["NOT_SENT", "UNANSWERED", "DECLINED"])(
    "follows a failure that no network has seen under %s",
    async (resend) => {
      const run = await paidBy("AUTHORIZING", { resend });
      await run(failed);
      await run(opening(2));
    },
  );

  it("follows silence once the gateway was looked up", async () => {
    const run = await paidBy("UNKNOWN");
    await refused(run, next, /is looked up before a cryptogram is sent again/);
    await run(lookedUp);
    await run(opening(2));
  });

  it("does not follow silence under NOT_SENT", async () => {
    const run = await paidBy("UNKNOWN", { resend: "NOT_SENT" });
    await run(lookedUp);
    await refused(run, next, /without an answer is sent again only where the rule says so/);
  });

  it.each(["NOT_SENT", "UNANSWERED"])("does not follow a decline under %s", async (resend) => {
    await refused(await paidBy("DECLINED", { resend }), next, /a declined cryptogram is sent again only/);
  });

  it("follows a decline under DECLINED", async () => {
    const run = await paidBy("DECLINED", { resend: "DECLINED" });
    await run(opening(2));
  });

  it("does not follow fraud under DECLINED", async () => {
    await refused(await paidBy("FRAUD", { resend: "DECLINED" }), next, /fraud-class decline is never retried/);
  });

  it("does not follow a hold under DECLINED", async () => {
    const run = await paidBy("UNKNOWN", { resend: "DECLINED" });
    await run(voiding);
    await refused(run, next, /no cryptogram is sent again after a hold/);
  });

  it("does not follow what a look-up has stopped, whatever the rule", async () => {
    const run = await paidBy("UNKNOWN", { resend: "DECLINED" });
    await run(lookedUp.replace("SET ", "SET next_action = 'stop', next_because = 'seen', "));
    await refused(run, next, /no cryptogram is sent again after a stop/);
  });

  it("is no matter of a card without a device", async () => {
    const run = await paidBy("DECLINED", { credential: "PAN", resend: "NOT_SENT" });
    await run(opening(2));
  });
});

describe("W7: a device's number", () => {
  it.each([
    [
      "a repeat with authentication",
      next.replace("INTO attempt (", "INTO attempt (round, ").replace("VALUES (", "VALUES (1, "),
    ],
    [
      "a proof",
      next.replace("INTO attempt (", "INTO attempt (authentication_id, ").replace("VALUES (", `VALUES ('${v7()}', `),
    ],
  ])("gets no attempt with %s", async (_, statement) => {
    const run = await paidBy("UNKNOWN");
    await run(lookedUp);
    await refused(run, statement, /is sent without an authentication/);
  });

  it("has a customer whom nothing asks", async () => {
    const run = await paidBy("AUTHORIZING");
    await refused(run, awaited.join("; "), /a device has authenticated its customer/);
  });
});

describe("W8: how a wallet pays", () => {
  it.each([
    ["its credential", "wallet_credential = 'PAN'"],
    ["its rule", "cryptogram_resend = 'DECLINED'"],
    ["its wallet", "wallet = 'google_pay'"],
    ["to a card", "wallet_credential = NULL, cryptogram_resend = NULL, wallet = NULL"],
  ])("never changes: %s", async (_, columns) => {
    await refused(await paidBy("UNKNOWN"), set(columns), /how a wallet pays never changes/);
  });

  it("is not added to a payment by card", async () => {
    const run = await submitted(client, "UNKNOWN");
    const columns = "wallet_credential = 'NETWORK_TOKEN', cryptogram_resend = 'DECLINED'";
    await refused(run, set(columns), /how a wallet pays never changes/);
  });

  it("is not known before the submission", async () => {
    const statement = newSession({ wallet_credential: "'PAN'", cryptogram_resend: "'UNANSWERED'" });
    await refused((sql) => client.query(sql), statement, /a wallet pays with a submission/);
  });

  it.each([
    ["another credential", "wpn_1", "'CARD UNANSWERED'", /a wallet's token is claimed as what it is/],
    ["the credential of another token", "wnt_1", "'PAN UNANSWERED'", /a wallet's token is claimed as what it is/],
    ["a token without its credential", "wpn_1", "NULL", /a wallet's token is claimed as what it is/],
    ["no rule", "wpn_1", "'PAN'", /a second use of a cryptogram follows a rule/],
    ["another wallet", "wpn_1", "'PAN UNANSWERED samsung_pay'", /no wallet has such a name/],
  ])("is refused by a claim with %s", async (_, token, byWallet, reason) => {
    const session = v7();
    await client.query(newSession({ id: `'${session}'` }));
    const claim = `SELECT FROM app.claim('${session}', 20000, 45000, '${token}', decode(repeat('00', 32), 'hex'), 1, '[]', '[]', NULL, NULL, NULL, NULL, NULL, NULL,
      NULL, NULL, NULL, NULL, NULL, NULL, true, false, 10, 5, NULL, 30, NULL, NULL, ${byWallet})`;
    await refused((sql) => service.query(sql), claim, reason);
    const { rows } = await client.query(`SELECT phase FROM payment_session WHERE id = '${session}'`);
    expect(rows).toEqual([{ phase: "IDLE" }]);
  });
});
