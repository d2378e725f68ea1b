/**
 * Another session of the same order, at a merchant that refuses repeated orders: it holds, captures, fails, gives its hold up or is
 * refunded at moments that the dice choose, by the product's own functions and guards. No process of the run works on it.
 */
import type { Core } from "../../core/core.ts";
import { lockSession } from "../../core/record/load-session.ts";
import type { Payment } from "../../core/rows/payment.ts";
import { Database, type Tx } from "../../platform/database.ts";
import { insertRefund, recordEnd } from "../../refunds/refund-rows.ts";
import type { Dice } from "./dice.ts";
import type { SqlServer } from "./sql-server.ts";
import type { Timeline } from "./timeline.ts";

export type RivalPlan = {
  readonly holdsAtMs: number;
  /** Time from the hold to its capture, or to the refusal of it. */
  readonly decidedAfterMs: number;
  readonly end: "captured" | "captureFails" | "refused";
  /** The time until a capture fails, or until a void is acknowledged. */
  readonly endsAfterMs: number;
  /** The refund of a captured payment; with `returnsAfterMs` the bank returns its money. */
  readonly refund:
    | { readonly afterMs: number; readonly amountMinor: number; readonly returnsAfterMs: number | undefined }
    | undefined;
  /** The session whose merchant allows it to repeat the order. */
  readonly allowed: "own" | "other" | undefined;
  /** True if the page of the run's session reads the order before it submits, as the checkout does. */
  readonly readsOrder: boolean;
};

/** Share of the runs with another session. */
const rivalRuns = 0.3;

/** Draws the other session of a run; undefined in most runs. */
export function drawRival(dice: Dice, priceMinor: number): RivalPlan | undefined {
  if (!dice.chance(rivalRuns)) return undefined;
  return {
    holdsAtMs: dice.between(0, dice.pick([300, 2_000, 5_000, 60_000, 900_000])),
    decidedAfterMs: dice.between(0, dice.pick([50, 2_000, 30_000])),
    end: dice.weighted<RivalPlan["end"]>([
      [4, "captured"],
      [1, "captureFails"],
      [3, "refused"],
    ]),
    endsAfterMs: dice.between(0, dice.pick([100, 30_000, 120_000])),
    refund: dice.chance(0.5)
      ? {
          afterMs: dice.between(0, dice.pick([100, 30_000])),
          amountMinor: dice.chance(0.8) ? priceMinor : dice.between(1, priceMinor - 1),
          returnsAfterMs: dice.chance(0.6) ? dice.between(0, dice.pick([100, 60_000])) : undefined,
        }
      : undefined,
    allowed: dice.weighted<RivalPlan["allowed"]>([
      [8, undefined],
      [1, "own"],
      [1, "other"],
    ]),
    readsOrder: dice.chance(0.5),
  };
}

// A statement that would wait for a transaction of the run, which continues only after it, is repeated a moment later.
const patience = "set_config('lock_timeout', '30', true)";
const againMs = 5;

export type RivalParts = {
  readonly server: SqlServer;
  readonly timeline: Timeline;
  readonly epochMs: number;
  readonly merchantId: string;
  /** Returns a process's core, to emit events and raise alarms. */
  readonly core: () => Core;
  readonly plan: RivalPlan;
  readonly note: (what: string) => void;
  readonly onDone: () => Promise<void>;
};

export class Rival {
  readonly #parts: RivalParts;
  readonly id: string;
  readonly #attemptId: string;
  #acts = 0;

  /** `sessionId` is the run's own: the other one has nearly the same id. */
  constructor(sessionId: string, parts: RivalParts) {
    this.#parts = parts;
    this.id = `${sessionId.slice(0, -6)}0000aa`;
    this.#attemptId = `${sessionId.slice(0, -6)}0000ab`;
  }

  get isActing(): boolean {
    return this.#acts > 0;
  }

  /** Claims the session, and lets it continue when its time comes. A lease without end keeps every process away. */
  async start(orderRef: string): Promise<void> {
    const { merchantId, plan } = this.#parts;
    await this.#run(`
      INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at,
        allow_repeated_order)
      VALUES ($session, '${merchantId}', 4900, 'EUR', '${orderRef}', 1, app.clock(), app.clock() + interval '1 h', ${plan.allowed === "other"});
      UPDATE payment_session SET phase = 'PROCESSING', lease_epoch = 1, lease_until = 'infinity', submit_deadline = app.clock() + interval '1 d',
        submitted_at = app.clock() WHERE id = $session;
      INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency, latest_execution_at)
      VALUES ($session, $attempt, 1, 'STRIPE', $attempt, 1, 1, 'why', 4900, 'EUR', app.clock() + interval '1 h');`);
    this.#after(plan.holdsAtMs, () => this.#hold());
  }

  async #hold(): Promise<void> {
    const held = `PERFORM app.held($session, 1, $attempt, app.clock(), 'rival of ${this.id}', NULL, 20000, 0, NULL, NULL);`;
    const error = await this.#step(held, "holds", () => this.#hold());
    if (error === "LL005") {
      this.#parts.note("the other session has lost the order");
      await this.#run(`
        UPDATE attempt SET status = 'UNKNOWN', failure_kind = 'TIMEOUT' WHERE session_id = $session;
        UPDATE attempt SET status = 'VOIDING' WHERE session_id = $session;
        UPDATE payment_session SET status = 'DEGRADED', decline_code = 'processing_unavailable', settled_at = app.clock() WHERE id = $session;`);
    }
    if (error === undefined) this.#after(this.#parts.plan.decidedAfterMs, () => this.#decide());
  }

  async #decide(): Promise<void> {
    const { plan } = this.#parts;
    const refused = `
      UPDATE payment_session SET winner_attempt_id = NULL WHERE id = $session;
      UPDATE attempt SET status = 'VOIDING', capture_refusal_code = 'no' WHERE session_id = $session;`;
    const captured = `
      UPDATE attempt SET status = 'CAPTURED', completed_at = app.clock() WHERE session_id = $session;
      UPDATE payment_session SET status = 'SUCCEEDED', phase = 'DONE', settled_at = app.clock(), captured_via = 'STRIPE', capture_confirmed = true
      WHERE id = $session;`;
    const isRefused = plan.end === "refused";
    const error = await this.#step(
      isRefused ? refused : captured,
      isRefused ? "has its capture refused" : "is captured",
      () => this.#decide(),
    );
    if (error !== undefined) return;
    if (plan.end !== "captured") this.#after(plan.endsAfterMs, () => this.#end());
    else if (plan.refund) this.#after(plan.refund.afterMs, () => this.#refund());
  }

  async #end(): Promise<void> {
    const isRefused = this.#parts.plan.end === "refused";
    const voided = `
      UPDATE attempt SET status = 'VOIDED', void_kind = 'VOIDED', void_asked_at = app.clock(), completed_at = app.clock() WHERE session_id = $session;
      UPDATE payment_session SET status = 'DEGRADED', phase = 'DONE', decline_code = 'processing_unavailable', settled_at = app.clock()
      WHERE id = $session;`;
    const failed = "UPDATE attempt SET capture_failed_at = app.clock() WHERE session_id = $session;";
    await this.#step(isRefused ? voided : failed, isRefused ? "is voided" : "has a capture that failed", () =>
      this.#end(),
    );
  }

  async #refund(): Promise<void> {
    const { amountMinor, returnsAfterMs } = this.#parts.plan.refund!;
    const name = { sessionId: this.id, id: this.#attemptId, attemptId: this.#attemptId, connectionId: this.#attemptId };
    const made = { gateway: "STRIPE", amountMinor, currency: "EUR", gatewayReference: `refund of ${this.id}` };
    const refund = async (tx: Tx) => insertRefund(tx, { ...name, ...made, status: "SUCCEEDED", origin: "GATEWAY" });
    const error = await this.#step(refund, `is refunded ${amountMinor}`, () => this.#refund());
    if (error === undefined && returnsAfterMs !== undefined) this.#after(returnsAfterMs, () => this.#return());
  }

  /** The bank returns the refunded money. */
  async #return(): Promise<void> {
    const end = { status: "FAILED", failureCode: "returned" } as const;
    const fail = async (tx: Tx, loaded: Payment) => {
      await recordEnd(tx, this.#parts.core(), { loaded, refund: loaded.refunds[0]!, end, dueInMs: undefined });
    };
    await this.#step(fail, "has a refund that failed", () => this.#return());
  }

  async #step(
    change: string | ((tx: Tx, loaded: Payment) => Promise<void>),
    what: string,
    again: () => Promise<void>,
  ): Promise<string | undefined> {
    const error = await (typeof change === "string" ? this.#run(change) : this.#commit(change));
    if (error === "55P03") this.#after(againMs, again);
    else if (error !== undefined && error !== "LL005") throw new Error(`the other session cannot go on: ${error}`);
    if (error === undefined) {
      this.#parts.note(`the other session ${what}`);
      await this.#parts.onDone();
    }
    return error;
  }

  #run(text: string): Promise<string | undefined> {
    const named = text.replaceAll("$session", `'${this.id}'`).replaceAll("$attempt", `'${this.#attemptId}'`);
    return this.#try(({ server }) => server.observe(`DO $do$ BEGIN PERFORM ${patience}; ${named} END $do$`));
  }

  #commit(change: (tx: Tx, loaded: Payment) => Promise<void>): Promise<string | undefined> {
    return this.#try(({ server }) =>
      new Database(server.asPool()).transaction(async (tx) => {
        tx.send({ name: "patience", text: `SELECT ${patience}` }, []);
        await change(tx, (await lockSession(tx, this.id))!);
      }),
    );
  }

  /** Returns the SQLSTATE with which the server refused; undefined if it did not. */
  async #try(act: (parts: RivalParts) => Promise<unknown>): Promise<string | undefined> {
    const { server, timeline, epochMs } = this.#parts;
    await server.setClock(epochMs + timeline.nowMs);
    try {
      await act(this.#parts);
      return undefined;
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    }
  }

  #after(ms: number, act: () => Promise<void>): void {
    this.#acts++;
    this.#parts.timeline.after(ms, () => {
      this.#acts--;
      return act();
    });
  }
}
