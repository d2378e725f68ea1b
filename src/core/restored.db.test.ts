/** A database that was brought back to a moment before payments were made: what the gateways did since is found, and nothing is taken twice. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Queryable } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { runCommand } from "../testing/run-command.ts";
import { attemptIdOf } from "./attempt-id.ts";
import { type CoreFixture, cards, startCoreFixture } from "./core-fixture.ts";
import { declareRestore, listInDoubt, releaseFromDoubt } from "./declare-restore.ts";
import type { PaymentSession } from "./entities.ts";
import { itemsOf, recover, withAnswers } from "./recovery-fixture.ts";
import { submitPayment } from "./submit-payment.ts";

let fixture: CoreFixture;
beforeAll(async () => {
  fixture = await startCoreFixture();
  await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.setClockAhead(0));

/** What was done for the session at a gateway after the backup: its database has no row of it. */
async function payUnseen(session: PaymentSession, at: 0 | 1, upTo: "held" | "captured"): Promise<string> {
  const connectionId = fixture.connectionIds[at]!;
  const gateway = at === 0 ? "SANDBOX_A" : "SANDBOX_B";
  const { connector, credentials } = (await fixture.core.bind(connectionId, gateway, 1))!;
  const attemptReference = encodeId("att", attemptIdOf({ sessionId: session.id, connectionId }));
  const call = { credentials, timeoutMs: 5_000 };
  const amount = { amountMinor: session.amountMinor, currency: session.currency };
  const { orderRef } = session;
  fixture.useCard(cards.approved);
  const { outcome } = await connector.authorize(
    { ...call, idempotencyKey: attemptReference },
    { ...amount, attemptReference, orderRef, sessionId: encodeId("ps", session.id), vaultToken: new Secret("tok_1") },
  );
  if (outcome.type !== "held") throw new Error(`expected a hold, got ${outcome.type}`);
  if (upTo === "held") return attemptReference;
  const { gatewayReference } = outcome;
  await connector.capture(
    { ...call, idempotencyKey: `${attemptReference}_cap` },
    { ...amount, attemptReference, gatewayReference },
  );
  if (at === 0) return attemptReference;
  // That it was captured was told to the database that is lost, and is not told again; of the hold we had heard before.
  const told = "DELETE FROM gateway_notice WHERE attempt_reference = $1 AND kind = 'captured' RETURNING 1";
  await expect.poll(async () => (await fixture.asOwner.pool.query(told, [attemptReference])).rowCount).toBe(1);
  return attemptReference;
}

const declare = () => declareRestore(fixture.asOwner, { backupTakenAt: undefined });

/** Recovery's turns, from two minutes after the restore on. */
async function turns(session: PaymentSession, count = 6, core = fixture.core): Promise<PaymentSession> {
  for (let turn = 0; turn < count; turn++) {
    await fixture.setClockAhead(2 + turn);
    await recover(fixture, core, session);
  }
  return (await fixture.trail(session)).session;
}

const statusesAt = async (reference: string) =>
  (await fixture.sandbox.authorizations(reference)).map(({ status }) => status);

describe("a session that nobody had submitted at the moment of the backup", () => {
  it("ends SUCCEEDED when a gateway that can be read has captured it since, and takes nothing more", async () => {
    const session = await fixture.newSession();
    const reference = await payUnseen(session, 0, "captured");
    await declare();
    await expect(fixture.submit(session, cards.approved)).rejects.toMatchObject({ code: "already_submitted" });
    expect(await turns(session)).toMatchObject({ status: "SUCCEEDED", phase: "DONE", capturedVia: "SANDBOX_A" });
    expect(await statusesAt(reference)).toEqual(["captured"]);
    expect(await fixture.capturedAtGateways(session)).toBe(1);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.pending", "payment_session.succeeded"]);
  });

  it("ends SUCCEEDED when one that only sends notices has: a void, which takes nothing, makes it tell", async () => {
    const session = await fixture.newSession();
    const reference = await payUnseen(session, 1, "captured");
    await declare();
    expect(await turns(session)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    expect(await statusesAt(reference)).toEqual(["captured"]);
  });

  it("ends DEGRADED when nothing was done, and never before both gateways have told", async () => {
    const session = await fixture.newSession();
    await declare();
    await recover(fixture, fixture.core, session);
    expect((await fixture.trail(session)).session.status).toBe("CREATED");
    await fixture.sandbox.setDown("A", true);
    expect(await turns(session, 8)).toMatchObject({ status: "CREATED" });
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH", attemptId: null }]);
    expect((await listInDoubt(fixture.core.database, 100)).map(({ id }) => id)).toContain(session.id);
    await fixture.sandbox.setDown("A", false);
    expect(await turns(session, 12)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
  });

  it("goes on in the name of a person who has looked, while a gateway does not tell", async () => {
    const session = await fixture.newSession();
    await declare();
    await fixture.sandbox.setDown("A", true);
    expect(await turns(session, 2)).toMatchObject({ status: "CREATED" });
    await fixture.core.database.transaction((tx) => releaseFromDoubt(tx, session.id));
    expect(await turns(session, 2)).toMatchObject({ status: "DEGRADED" });
    await fixture.sandbox.setDown("A", false);
  });
});

describe("declareRestore()", () => {
  it("goes through all in slices, and leaves what is in doubt already as it is", async () => {
    await declare();
    const sessions = await Promise.all([1, 2, 3, 4, 5].map(() => fixture.newSession()));
    const slices: number[] = [];
    const counting: Queryable = {
      query: async (statement, values) => {
        const rows = await fixture.asOwner.query<never>(statement, values);
        slices.push((rows[0] as { sessions: number } | undefined)!.sessions);
        return rows;
      },
    };
    expect(await declareRestore(counting, { backupTakenAt: undefined, sliceSessions: 2 })).toBe(5);
    expect(slices).toEqual([0, 2, 2, 1, 0]);
    const { leaseEpoch, submitDeadline } = (await fixture.trail(sessions[0]!)).session;
    expect(await declare()).toBe(0);
    expect((await fixture.trail(sessions[0]!)).session).toMatchObject({ leaseEpoch, submitDeadline });
  });

  it("leaves those to expire that had expired by the backup", async () => {
    await declare();
    const session = await fixture.newSession();
    const at = (ms: number) => new Date(session.expiresAt.getTime() + ms);
    expect(await declareRestore(fixture.asOwner, { backupTakenAt: at(1) })).toBe(0);
    expect(await declareRestore(fixture.asOwner, { backupTakenAt: at(-1) })).toBe(1);
  });
});

describe("a session whose gateway finds nothing by our reference, as a search that lags", () => {
  const unfound = { type: "cannotTell", isUnfound: true, reason: "nothing is found" } as const;
  const searching = () => withAnswers(fixture.core, { lookUp: async () => unfound });

  it("ends DEGRADED when nothing was done there: a void tells", async () => {
    const session = await fixture.newSession();
    await declare();
    expect(await turns(session, 6, searching())).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    expect(await itemsOf(fixture, session)).toEqual([]);
  });

  it("ends DEGRADED when there was a hold, which is given back; nothing is asked for under its key again, also when it is released", async () => {
    const session = await fixture.newSession();
    const reference = await payUnseen(session, 0, "held");
    await declare();
    await fixture.sandbox.setDown("B", true);
    expect(await turns(session, 2, searching())).toMatchObject({ status: "CREATED" });
    expect(await statusesAt(reference)).toEqual(["voided"]);
    await fixture.core.database.transaction((tx) => releaseFromDoubt(tx, session.id));
    await expect(fixture.submit(session, cards.approved)).rejects.toMatchObject({ code: "already_submitted" });
    expect(await turns(session, 2, searching())).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    await fixture.sandbox.setDown("B", false);
    expect((await fixture.trail(session)).attempts).toEqual([]);
    expect(await statusesAt(reference)).toEqual(["voided"]);
  });

  it("stays in doubt when money was taken, and ends SUCCEEDED once that is found", async () => {
    const session = await fixture.newSession();
    const reference = await payUnseen(session, 0, "captured");
    await declare();
    expect(await turns(session, 6, searching())).toMatchObject({ status: "CREATED", phase: "PROCESSING" });
    expect(await turns(session, 9)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
    expect(await statusesAt(reference)).toEqual(["captured"]);
  });

  it("believes that there was none only of a void after the last moment at which one could come", async () => {
    const session = await fixture.newSession();
    await declare();
    const slow = new Proxy(fixture.core.connectorOf("SANDBOX_A")!, {
      get: (target, name) => (name === "refusesVoidedReference" ? false : Reflect.get(target, name, target)),
    });
    const absent = withAnswers(fixture.core, { lookUp: async () => unfound, void: async () => ({ type: "absent" }) });
    const forwarding = { ...fixture.core.vault.forwarding, lateMs: 200_000 };
    const vault = Object.assign(Object.create(fixture.core.vault), { forwarding });
    const core = { ...absent, vault, connectorOf: () => slow };
    expect(await turns(session, 2, core)).toMatchObject({ status: "CREATED" });
    expect(await turns(session, 8, core)).toMatchObject({ status: "DEGRADED" });
  });
});

describe("a session that was being paid at the moment of the backup", () => {
  /** The first gateway's answer was lost, so its attempt is open; then the backup was taken. */
  async function beingPaid(): Promise<PaymentSession> {
    const session = await fixture.newSession();
    await fixture.sandbox.hold("a.authorize");
    fixture.useCard(cards.approved);
    // Nobody waits for the outcome.
    const signal = AbortSignal.abort();
    await submitPayment(fixture.core, { session, vaultToken: new Secret("tok_1"), signal });
    await fixture.sandbox.paused({ operation: "a.authorize" });
    return session;
  }

  it("adopts no hold of the first gateway when the second has captured since", async () => {
    const session = await beingPaid();
    const reference = await payUnseen(session, 1, "captured");
    await declare();
    await fixture.sandbox.release();
    await Promise.all(fixture.core.inFlight);
    expect(await turns(session, 8)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B", phase: "DONE" });
    const { attempts } = await fixture.trail(session);
    expect(attempts.map(({ status }) => status)).toEqual(["VOIDED", "CAPTURED"]);
    expect(attempts.map(({ id }) => encodeId("att", id))).toContain(reference);
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });

  it("captures no winner while another gateway has captured too: a person has to look", async () => {
    const session = await fixture.newSession();
    const noAnswer = { type: "unknown", kind: "TIMEOUT", reason: "lost" } as const;
    const core = withAnswers(fixture.core, { capture: async () => noAnswer });
    fixture.useCard(cards.approved);
    await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal: AbortSignal.abort() });
    await Promise.all(core.inFlight);
    await payUnseen(session, 1, "captured");
    await declare();
    expect(await turns(session, 9)).toMatchObject({ status: "CREATED" });
    const [winner] = (await fixture.trail(session)).attempts;
    expect([winner!.status, await statusesAt(encodeId("att", winner!.id))]).toEqual(["AUTHORIZED", ["held"]]);
    // A person who releases it has to agree that this one is captured.
    const release = (options = {}) =>
      fixture.core.database.transaction((tx) => releaseFromDoubt(tx, session.id, options));
    expect(await release()).toMatchObject({ isReleased: false, mayTake: [{ id: winner!.id }] });
    expect((await fixture.trail(session)).session.lostCheckAt).not.toBeNull();
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH" }]);
    const names = [
      "--url",
      String(fixture.asOwner.pool.options.connectionString),
      "--session",
      encodeId("ps", session.id),
    ];
    const command = ["restore", "release", ...names, "--by", "ada", "--note", "seen"];
    const refused = await runCommand(command);
    expect([refused.code > 0, refused.err]).toEqual([
      true,
      expect.stringMatching(/att_\S+ at SANDBOX_A .*--may-capture/s),
    ]);
    expect(await runCommand([...command, "--may-capture"])).toMatchObject({ code: 0 });
    expect(await release({ mayCapture: true })).toBeUndefined();
  });

  it("is captured once when its own attempt was captured since", async () => {
    const session = await beingPaid();
    await declare();
    await fixture.sandbox.release();
    await Promise.all(fixture.core.inFlight);
    const [attempt] = (await fixture.trail(session)).attempts;
    const [found] = await fixture.sandbox.authorizations(encodeId("att", attempt!.id));
    const { connector, credentials } = (await fixture.core.bind(attempt!.connectionId, "SANDBOX_A", 1))!;
    const { amountMinor, currency } = session;
    const reference = encodeId("att", attempt!.id);
    await connector.capture(
      { credentials, timeoutMs: 5_000, idempotencyKey: `${reference}_cap` },
      { amountMinor, currency, attemptReference: reference, gatewayReference: found!.id },
    );
    expect(await turns(session)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });
});

describe("the database", () => {
  it("lets nobody but its owner declare a restore, and ends no session that is in doubt", async () => {
    const session = await fixture.newSession();
    const mark = { name: "mark", text: "UPDATE payment_session SET lost_check_at = app.clock() WHERE id = $1" };
    await expect(fixture.core.database.query(mark, [session.id])).rejects.toThrow(/only the owner/);
    await declare();
    const end = {
      name: "end",
      text: "UPDATE payment_session SET status = 'DEGRADED', decline_code = 'x', settled_at = app.clock() WHERE id = $1",
    };
    await expect(fixture.core.database.query(end, [session.id])).rejects.toThrow(/have told what is lost/);
  });

  it("finds nothing in its audit", async () => {
    expect((await fixture.asOwner.pool.query("SELECT * FROM app.audit()")).rows).toEqual([]);
  });
});
