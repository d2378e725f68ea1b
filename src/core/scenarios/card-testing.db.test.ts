/** Tests that nobody can try out what belongs to a card's number, over the sandbox acquirers. */
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { CardFingerprint } from "../../platform/card-token.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import type { NewSession } from "../create-session.ts";
import { claimSession } from "../record/payment-functions.ts";
import type { Payment } from "../rows/payment.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";
import { withAnswers } from "./recovery.fixture.ts";

const wrongCode = "4000000000008401";

const fixture = await forFile(startCoreFixture);
let fingerprint: CardFingerprint | undefined;
let sent: number;
await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
const counting = withAnswers(fixture.core, (own) => ({
  authorize: (call, request) => {
    sent++;
    return own.authorize(call, request);
  },
}));
const core: Core = {
  ...counting,
  vault: { ...fixture.core.vault, checkToken: async () => ({ state: "unused", fingerprint }) },
};
beforeEach(() => {
  sent = 0;
  fingerprint = counted();
});
afterEach(() => fixture.setClockAhead(0));

function counted(...versions: string[]): CardFingerprint {
  return { versions: versions.length > 0 ? versions : [randomBytes(16).toString("hex")], isCounted: true };
}

async function pay(card: string, fields: Partial<NewSession> = {}): Promise<Payment> {
  const session = await fixture.newSession(fields);
  await fixture.submit(session, card, "tok_1", core);
  return fixture.loadSession(session);
}

async function endsOf(card: string, times: number): Promise<unknown[]> {
  const ends: unknown[] = [];
  for (let time = 0; time < times; time++) ends.push((await pay(card)).session.declineCode);
  return ends;
}

const refused = "too_many_attempts";
const isBeingPaid = ({ session: { status } }: Payment) => status === "CREATED";

describe("a card whose security code is guessed", () => {
  it("gets at most five of 33 codes to a gateway, all at one moment", async () => {
    const paid = await Promise.all(Array.from({ length: 33 }, () => pay(wrongCode)));
    const codes = paid.map(({ session }) => session.declineCode);
    expect(sent).toBeLessThanOrEqual(5);
    expect(sent).toBeGreaterThan(0);
    expect(codes.filter((code) => code === "incorrect_cvc")).toHaveLength(sent);
    expect(codes.filter((code) => code === refused)).toHaveLength(33 - sent);
  });

  it("is counted in the tab that waits for the other one's claim, when both are submitted at one moment", async () => {
    await endsOf(wrongCode, 2);
    const [card] = fingerprint!.versions;
    const claim = ({
      id,
    }: {
      id: string;
    }) => `SELECT id, decline_code AS reason FROM app.claim('${id}', 20000, 45000, 't', NULL, 1, '[]', '[]', NULL, NULL, NULL,
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, '${card}', NULL, true, true, 10, 5, NULL, NULL, NULL)`;
    const [one, other] = [await fixture.newSession(), await fixture.newSession()];
    const [first, second] = [await fixture.core.database.pool.connect(), await fixture.core.database.pool.connect()];
    onTestFinished(async () => {
      for (const client of [first, second]) {
        await client.query("ROLLBACK");
        client.release();
      }
    });
    await first.query(`BEGIN; ${claim(one)}`);
    const waiting = second.query(claim(other)).then(({ rows }) => rows);
    const isWaiting = async () =>
      (await fixture.core.database.pool.query("SELECT FROM pg_locks WHERE NOT granted")).rowCount;
    await expect.poll(isWaiting).toBeGreaterThan(0);
    await first.query("COMMIT");
    expect(await waiting).toEqual([{ id: null, reason: "declines" }]);
  });

  it("gets three to a gateway, one after another, and the fourth a day later", async () => {
    expect(await endsOf(wrongCode, 5)).toEqual([...Array(3).fill("incorrect_cvc"), refused, refused]);
    expect(sent).toBe(3);
    // Also the right code.
    expect((await pay(cards.approved)).session.declineCode).toBe(refused);
    await fixture.setClockAhead(23 * 60);
    expect((await pay(cards.approved)).session.declineCode).toBe(refused);
    await fixture.setClockAhead(25 * 60);
    expect((await pay(wrongCode)).session.declineCode).toBe("incorrect_cvc");
  });

  it("undoes none of the claims that share the statement of a refused one", async () => {
    await endsOf(wrongCode, 3);
    const { database } = fixture.core;
    const braked = fingerprint;
    const sessions = await Promise.all(Array.from({ length: 4 }, () => fixture.newSession()));
    const query = vi.spyOn(database.pool, "query");
    onTestFinished(() => query.mockRestore());
    const plan = { plan: [], skipped: [] };
    const ends = await Promise.allSettled(
      sessions.map(({ id: sessionId }, index) => {
        const card = { fingerprint: index === 2 ? braked : counted(), isCounted: true };
        const claim = { sessionId, vaultToken: new Secret("tok_1"), ruleVersion: 1, plan, submissionBudgetMs: 45_000 };
        return claimSession(database, { ...claim, ...card });
      }),
    );
    const endOf = (end: PromiseSettledResult<Payment>) => (end.status === "rejected" ? end.reason.by : "claimed");
    expect(ends.map(endOf)).toEqual(["claimed", "claimed", "declines", "claimed"]);
    // The first claim, and those that came while it ran.
    expect(query).toHaveBeenCalledTimes(2);
    const { session } = await fixture.loadSession(sessions[2]!);
    expect(session.phase).toBe("IDLE");
  });

  it("ends in one commit with its claim, before any gateway, and the reason is in the trail", async () => {
    await endsOf(wrongCode, 3);
    const { session, attempts } = await pay(wrongCode);
    const { status, phase, vaultToken, plan, skipped } = session;
    expect({ status, phase, vaultToken, plan, attempts }).toEqual({
      status: "DECLINED",
      phase: "DONE",
      vaultToken: null,
      plan: [],
      attempts: [],
    });
    expect(skipped?.map(({ because }) => because)).toEqual(Array(2).fill(expect.stringMatching(/declined too often/)));
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.declined"]);
  });

  it("is found by either version of its fingerprint while the key is rotated", async () => {
    const [old, next] = [randomBytes(16).toString("hex"), randomBytes(16).toString("hex")];
    fingerprint = counted(old);
    await endsOf(wrongCode, 2);
    fingerprint = counted(old, next);
    expect(await endsOf(wrongCode, 2)).toEqual(["incorrect_cvc", refused]);
    fingerprint = counted(next, old);
    expect(await endsOf(wrongCode, 1)).toEqual([refused]);
    fingerprint = counted(next);
    expect(await endsOf(wrongCode, 2)).toEqual(["incorrect_cvc", "incorrect_cvc"]);
  });
});

describe("a card", () => {
  it("is declined five times in a day, and no more", async () => {
    expect(await endsOf(cards.softDecline, 6)).toEqual([...Array(5).fill("insufficient_funds"), refused]);
    fingerprint = counted();
    expect(await endsOf(cards.softDecline, 1)).toEqual(["insufficient_funds"]);
  });

  it("is submitted ten times in an hour, and no more", async () => {
    expect(await endsOf(cards.approved, 11)).toEqual([...Array(10).fill(null), refused]);
    const { session } = await pay(cards.approved);
    expect(session.skipped?.[0]?.because).toMatch(/submitted too often/);
    await fixture.setClockAhead(61);
    expect(await endsOf(cards.approved, 1)).toEqual([null]);
  });

  it("counts payments that are not decided yet as tries, and holds as none", async () => {
    const { promise: mayGo, resolve: go } = Promise.withResolvers<void>();
    const { bind } = core;
    const waiting: Core = {
      ...core,
      bind: async (...attempt) => {
        await mayGo;
        return bind(...attempt);
      },
    };
    const begun = await Promise.all(Array.from({ length: 5 }, () => fixture.newSession()));
    const paying = begun.map((session) => fixture.submit(session, cards.approved, "tok_1", waiting));
    await expect
      .poll(async () => (await Promise.all(begun.map((one) => fixture.loadSession(one)))).filter(isBeingPaid).length)
      .toBe(5);
    await expect
      .poll(async () =>
        (await Promise.all(begun.map((one) => fixture.loadSession(one)))).flatMap((one) => one.attempts),
      )
      .toHaveLength(5);
    expect(await endsOf(cards.approved, 1)).toEqual([refused]);
    go();
    await Promise.all(paying);
    expect(await endsOf(cards.approved, 1)).toEqual([null]);
    const { session } = await pay(cards.approved, { capture: "manual" });
    expect(session.heldAt).not.toBeNull();
    expect(await endsOf(cards.approved, 1)).toEqual([null]);
  });

  it("is not counted where the vault says so, or made no fingerprint", async () => {
    for (const uncounted of [undefined, { ...counted(), isCounted: false }]) {
      fingerprint = uncounted;
      expect(await endsOf(wrongCode, 6)).toEqual(Array(6).fill("incorrect_cvc"));
    }
  });

  it("loses no try by a submission that is repeated or comes too late", async () => {
    const session = await fixture.newSession();
    for (let time = 0; time < 12; time++) await fixture.submit(session, cards.approved, "tok_1", core);
    expect(await endsOf(cards.approved, 9)).toEqual(Array(9).fill(null));
  });
});
