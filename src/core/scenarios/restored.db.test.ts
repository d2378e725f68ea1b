/**
 * Tests a database that was restored to a time before payments were made: the gateways' later actions are found, and no
 * money is taken twice.
 */
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { runCommandHere } from "../../dev/testing/run-command-here.ts";
import type { Connector } from "../../gateways/connector.ts";
import {
  declareRestore,
  findUnconfirmedTimeline,
  listInDoubt,
  releaseFromDoubt,
} from "../../oversight/declare-restore.ts";
import { processNotificationsOnce } from "../../oversight/notifications/process-notifications.ts";
import type { Queryable } from "../../platform/database.ts";
import { encodeId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { recoverSessionsOnce } from "../submit-payment.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";
import { itemsOf, recover, replaced, withAnswers } from "./recovery.fixture.ts";
import * as restore from "./restore.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]));
beforeEach(() => fixture.setClockAhead(0));

const payUnseen = (session: PaymentSession, at: 0 | 1, upTo: "held" | "captured") =>
  restore.payUnseen(fixture, session, at, upTo);
const turns = (session: PaymentSession, count?: number, core?: Core) => restore.turns(fixture, session, count, core);
const declare = () => declareRestore(fixture.asOwner, { backupTakenAt: undefined });

/** Pays a new session unseen, and declares the restore. */
async function paidUnseen(at: 0 | 1, upTo: "held" | "captured") {
  const session = await fixture.newSession();
  const reference = await payUnseen(session, at, upTo);
  await declare();
  return { session, reference };
}

const statusesAt = async (reference: string) =>
  (await fixture.sandbox.authorizations(reference)).map(({ status }) => status);

describe("a session that was not submitted at the time of the backup", () => {
  it("ends SUCCEEDED when a gateway that can be read has captured it since, and takes nothing more", async () => {
    const { session, reference } = await paidUnseen(0, "captured");
    await expect(fixture.submit(session, cards.approved)).rejects.toMatchObject({ code: "already_submitted" });
    expect(await turns(session)).toMatchObject({ status: "SUCCEEDED", phase: "DONE", capturedVia: "SANDBOX_A" });
    expect(await statusesAt(reference)).toEqual(["captured"]);
    expect(await fixture.capturedAtGateways(session)).toBe(1);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.pending", "payment_session.succeeded"]);
  });

  it("ends SUCCEEDED when one that only sends notifications has captured it, as a void reveals", async () => {
    const { session, reference } = await paidUnseen(1, "captured");
    expect(await turns(session)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    expect(await statusesAt(reference)).toEqual(["captured"]);
  });

  it("ends DEGRADED when nothing was done, and never before both gateways have answered", async () => {
    const session = await fixture.newSession();
    await declare();
    await recover(fixture, fixture.core, session);
    expect((await fixture.loadSession(session)).session.status).toBe("CREATED");
    await fixture.sandbox.setDown("A", true);
    expect(await turns(session, 8)).toMatchObject({ status: "CREATED" });
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH", attemptId: null }]);
    expect((await listInDoubt(fixture.core.database, 100)).map(({ id }) => id)).toContain(session.id);
    await fixture.sandbox.setDown("A", false);
    expect(await turns(session, 12)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
  });

  it("asks a gateway that gives no answer less often the longer the doubt lasts", async () => {
    const session = await fixture.newSession();
    await declare();
    await fixture.sandbox.setDown("A", true);
    const pauseAfter = async (minutes: number) => {
      await fixture.setClockAhead(minutes);
      await recover(fixture, fixture.core, session);
      const waiting = (await fixture.loadSession(session)).session;
      return (waiting.unrecordedCheckAt!.getTime() - Date.now()) / 60_000 - minutes;
    };
    expect(await pauseAfter(4)).toBeCloseTo(1, 1);
    expect(await pauseAfter(90)).toBeCloseTo(10, 1);
    await fixture.sandbox.setDown("A", false);
  });

  it("goes on in the name of a person who has checked, while a gateway does not answer", async () => {
    const session = await fixture.newSession();
    await declare();
    await fixture.sandbox.setDown("A", true);
    expect(await turns(session, 2)).toMatchObject({ status: "CREATED" });
    await fixture.asOwner.transaction((tx) => releaseFromDoubt(tx, session.id));
    expect(await turns(session, 2)).toMatchObject({ status: "DEGRADED" });
    await fixture.sandbox.setDown("A", false);
  });

  it("has a hold voided that is reported after its end, also where only the refusal of a void names it", async () => {
    const { session, reference } = await paidUnseen(1, "held");
    expect(await turns(session, 12)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    const text = `INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference)
      SELECT $1, kind, kind, $2, 'hold of ' || kind FROM unnest(ARRAY['held','void_refused']) kind`;
    await fixture.asOwner.pool.query(text, [fixture.connectionIds[1], reference]);
    await processNotificationsOnce(fixture.core);
    const found = "SELECT gateway_reference AS hold FROM orphaned_authorization WHERE session_id = $1 ORDER BY 1";
    const { rows } = await fixture.asOwner.pool.query(found, [session.id]);
    expect(rows).toEqual([{ hold: "hold of held" }, { hold: "hold of void_refused" }]);
  });
});

describe("declareRestore()", () => {
  it("processes all sessions in slices, and leaves those already in doubt unchanged", async () => {
    await declare();
    const sessions = await Promise.all([1, 2, 3, 4, 5].map(() => fixture.newSession()));
    const slices: number[] = [];
    const counting: Queryable = {
      query: async (statement, values) => {
        const rows = await fixture.asOwner.query<never>(statement, values);
        // The last statement confirms the timeline, and returns no row where it is already confirmed.
        slices.push(...rows.map(({ sessions }: { sessions: number }) => sessions));
        return rows;
      },
    };
    expect(await declareRestore(counting, { backupTakenAt: undefined, sliceSessions: 2 })).toBe(5);
    expect(slices).toEqual([0, 2, 2, 1, 0]);
    const { leaseEpoch, submitDeadline } = (await fixture.loadSession(sessions[0]!)).session;
    expect(await declare()).toBe(0);
    expect((await fixture.loadSession(sessions[0]!)).session).toMatchObject({ leaseEpoch, submitDeadline });
  });

  it("that is interrupted lets nothing be refunded without the mark that refunds may be lost", async () => {
    const { pool } = fixture.asOwner;
    await pool.query("UPDATE replica_mark SET restored_at = NULL, timeline = 'FFFFFFFF'");
    const interrupted: Queryable = {
      query: async (statement, values) => {
        const rows = await fixture.asOwner.query<never>(statement, values);
        if (statement.name === "confirm_timeline") throw new Error("the connection is lost");
        return rows;
      },
    };
    await expect(declareRestore(interrupted, { backupTakenAt: undefined })).rejects.toThrow("lost");
    const { rows } = await pool.query(
      "SELECT restored_at, app.is_timeline_confirmed() AS is_confirmed FROM replica_mark",
    );
    expect(rows).toEqual([{ restored_at: expect.any(Date), is_confirmed: true }]);
  });

  it("lets sessions expire that had expired by the time of the backup", async () => {
    await declare();
    const session = await fixture.newSession();
    const at = (ms: number) => new Date(session.expiresAt.getTime() + ms);
    expect(await declareRestore(fixture.asOwner, { backupTakenAt: at(1) })).toBe(0);
    expect(await declareRestore(fixture.asOwner, { backupTakenAt: at(-1) })).toBe(1);
  });
});

describe("a session whose gateway finds nothing by our reference, as when its search lags", () => {
  const unfound = { type: "inconclusive", isUnfound: true, reason: "nothing is found" } as const;
  const searching = () => withAnswers(fixture.core, { lookUp: async () => unfound });

  it("ends DEGRADED when nothing was done there, as a void shows", async () => {
    const session = await fixture.newSession();
    await declare();
    expect(await turns(session, 6, searching())).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    expect(await itemsOf(fixture, session)).toEqual([]);
  });

  it("ends DEGRADED when there was a hold, which is voided; its key is never reused, even after release", async () => {
    const { session, reference } = await paidUnseen(0, "held");
    await fixture.sandbox.setDown("B", true);
    expect(await turns(session, 2, searching())).toMatchObject({ status: "CREATED" });
    expect(await statusesAt(reference)).toEqual(["voided"]);
    await fixture.asOwner.transaction((tx) => releaseFromDoubt(tx, session.id));
    await expect(fixture.submit(session, cards.approved)).rejects.toMatchObject({ code: "already_submitted" });
    expect(await turns(session, 2, searching())).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    await fixture.sandbox.setDown("B", false);
    expect((await fixture.loadSession(session)).attempts).toEqual([]);
    expect(await statusesAt(reference)).toEqual(["voided"]);
  });

  it("stays in doubt when money was taken, and ends SUCCEEDED once the capture is found", async () => {
    const { session, reference } = await paidUnseen(0, "captured");
    expect(await turns(session, 6, searching())).toMatchObject({ status: "CREATED", phase: "PROCESSING" });
    expect(await turns(session, 9)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
    expect(await statusesAt(reference)).toEqual(["captured"]);
  });

  it("believes a void that found no hold only after the latest execution time", async () => {
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
  it("adopts no hold of the first gateway when the second has captured since", async () => {
    const session = await restore.beingPaid(fixture);
    const reference = await payUnseen(session, 1, "captured");
    await declare();
    await fixture.sandbox.release();
    await Promise.all(fixture.core.inFlight);
    expect(await turns(session, 8)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B", phase: "DONE" });
    const { attempts } = await fixture.loadSession(session);
    expect(attempts.map(({ status }) => status)).toEqual(["VOIDED", "CAPTURED"]);
    expect(attempts.map(({ id }) => encodeId("att", id))).toContain(reference);
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });

  it("captures its winner once the hold of another gateway is voided, also one over another amount", async () => {
    const switches = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;
    await fixture.setRule(switches, fixture.connectionIds.toReversed());
    const noAnswer = { type: "unknown", kind: "TIMEOUT", reason: "lost" } as const;
    const core = withAnswers(fixture.core, { capture: async () => noAnswer });
    const session = await fixture.submitOn(core);
    await fixture.setRule(switches);
    const reference = await payUnseen({ ...session, amountMinor: session.amountMinor - 1 }, 0, "held");
    await declare();
    expect(await turns(session, 9)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B", phase: "DONE" });
    expect(await statusesAt(reference)).toEqual(["voided"]);
    expect(await fixture.capturedAtGateways(session)).toBe(1);
    expect(await itemsOf(fixture, session)).toEqual([]);
  });

  it("captures nothing before the other gateway's hold is voided, of which the lost database may have sent a capture", async () => {
    const session = await restore.beingPaid(fixture);
    const second = await payUnseen(session, 1, "held");
    await declare();
    await fixture.sandbox.release();
    await Promise.all(fixture.core.inFlight);
    const first = encodeId("att", (await fixture.loadSession(session)).attempts[0]!.id);
    const atCapture: string[][] = [];
    // Two gateways that can be read.
    const readable = (connector: Connector): Connector =>
      replaced(connector, {
        canRead: true,
        lookUp: async (_, { attemptReference }) => {
          const [found] = await fixture.sandbox.authorizations(attemptReference);
          if (found?.status !== "held") return { type: found?.status === "voided" ? "voided" : "absent" };
          return { type: "held", gatewayReference: found.id };
        },
        capture: async (...sent) => {
          atCapture.push([...(await statusesAt(first)), ...(await statusesAt(second))]);
          return connector.capture(...sent);
        },
      });
    const core = withAnswers(fixture.core, readable);
    expect(await turns(session, 9, core)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    expect(atCapture).toEqual([["voided", "held"]]);
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });

  it("waits until its check is due, not until the retry that comes after it", async () => {
    const noAnswer = { type: "unknown", kind: "TIMEOUT", reason: "lost" } as const;
    const core = withAnswers(fixture.core, { capture: async () => noAnswer });
    const session = await fixture.submitOn(core);
    await declare();
    await fixture.setClockAhead(1);
    await recoverSessionsOnce(fixture.core);
    await Promise.all(fixture.core.inFlight);
    const waiting = await fixture.loadSession(session);
    const now = waiting.readAt.getTime();
    expect(waiting.attempts[0]!.nextRetryAt!.getTime()).toBeLessThan(now);
    expect(waiting.session.unrecordedCheckAt!.getTime()).toBeGreaterThan(now);
    expect(waiting.session.leaseUntil).toEqual(waiting.session.unrecordedCheckAt);
    expect(await turns(session)).toMatchObject({ status: "SUCCEEDED" });
  });

  it("captures no winner while another gateway has captured too: a person has to decide", async () => {
    const noAnswer = { type: "unknown", kind: "TIMEOUT", reason: "lost" } as const;
    const core = withAnswers(fixture.core, { capture: async () => noAnswer });
    const session = await fixture.submitOn(core);
    await payUnseen(session, 1, "captured");
    await declare();
    expect(await turns(session, 9)).toMatchObject({ status: "CREATED" });
    const [winner] = (await fixture.loadSession(session)).attempts;
    expect([winner!.status, await statusesAt(encodeId("att", winner!.id))]).toEqual(["AUTHORIZED", ["held"]]);
    // A person who releases it has to agree that this attempt is captured.
    const release = (options = {}) => fixture.asOwner.transaction((tx) => releaseFromDoubt(tx, session.id, options));
    expect(await release()).toMatchObject({ isReleased: false, mayTake: [{ id: winner!.id }] });
    expect((await fixture.loadSession(session)).session.unrecordedCheckAt).not.toBeNull();
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH" }]);
    const names = [
      "--url",
      String(fixture.asOwner.pool.options.connectionString),
      "--session",
      encodeId("ps", session.id),
    ];
    const command = ["restore", "release", ...names, "--by", "ada", "--note", "seen"];
    const refused = await runCommandHere(command);
    expect([refused.code > 0, refused.err]).toEqual([
      true,
      expect.stringMatching(/att_\S+ at SANDBOX_A .*--may-capture/s),
    ]);
    expect(await runCommandHere([...command, "--may-capture"])).toMatchObject({ code: 0 });
    expect(await release({ mayCapture: true })).toBeUndefined();
  });

  it("is captured once when its own attempt was captured since", async () => {
    const session = await restore.beingPaid(fixture);
    await declare();
    await fixture.sandbox.release();
    await Promise.all(fixture.core.inFlight);
    const [attempt] = (await fixture.loadSession(session)).attempts;
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
  it("lets only its owner declare a restore, and ends no session that is in doubt", async () => {
    const session = await fixture.newSession();
    const mark = { name: "mark", text: "SELECT FROM app.set_unrecorded_check($1, app.clock(), NULL)" };
    await expect(fixture.core.database.query(mark, [session.id])).rejects.toThrow(/only the owner/);
    await declare();
    const end = {
      name: "end",
      text: "UPDATE payment_session SET status = 'DEGRADED', decline_code = 'x', settled_at = app.clock() WHERE id = $1",
    };
    await expect(fixture.asOwner.query(end, [session.id])).rejects.toThrow(/have reported what is lost/);
  });

  it("lets no session go on in another cluster, as after restoring a dump, before that is declared", async () => {
    const session = await fixture.newSession();
    const other = { name: "other", text: "UPDATE replica_mark SET system_identifier = '1'" };
    await expect(fixture.core.database.query(other, [])).rejects.toThrow(/only the owner/);
    await fixture.asOwner.query(other, []);
    await expect(fixture.submit(session, cards.approved)).rejects.toThrow(/another cluster/);
    expect(await findUnconfirmedTimeline(fixture.core.database)).toMatchObject({
      confirmed: expect.stringMatching(/ of 1$/),
    });
    await declare();
    expect(await findUnconfirmedTimeline(fixture.core.database)).toBeUndefined();
    expect(await turns(session)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
  });

  it("uses the timeline alone where the server does not identify its cluster", async () => {
    const client = await fixture.asOwner.pool.connect();
    onTestFinished(async () => {
      await client.query("ROLLBACK");
      client.release();
    });
    const isConfirmed = async () => (await client.query("SELECT app.is_timeline_confirmed() AS it")).rows[0]?.it;
    await client.query("BEGIN; UPDATE replica_mark SET system_identifier = '1'");
    expect(await isConfirmed()).toBe(false);
    await client.query(`CREATE SCHEMA denying; SET LOCAL search_path = denying, pg_catalog, public;
      CREATE FUNCTION denying.pg_control_system(OUT system_identifier bigint) LANGUAGE plpgsql
        AS $$ BEGIN RAISE insufficient_privilege; END $$`);
    expect(await isConfirmed()).toBe(true);
  });

  it("finds no violation in its audit", async () => {
    expect((await fixture.asOwner.pool.query("SELECT * FROM app.audit()")).rows).toEqual([]);
  });
});
