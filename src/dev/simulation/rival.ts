/**
 * Another session of the same order, at a merchant that refuses repeated orders: it holds, captures, fails or gives its hold up at
 * moments that the dice choose, by the product's own functions and guards. No process of the run works on it.
 */
import type { Dice } from "./dice.ts";
import type { SqlServer } from "./sql-server.ts";
import type { Timeline } from "./timeline.ts";

/** The acts of the other session. */
export type RivalPlan = {
  /** Time of its gateway's hold. */
  readonly holdsAtMs: number;
  /** Time from the hold to its capture, or to the refusal of it. */
  readonly decidedAfterMs: number;
  readonly end: "captured" | "captureFails" | "refused";
  /** Of a failed capture, or the acknowledgement of the void. */
  readonly endsAfterMs: number;
};

/** Share of the runs with another session. */
const rivalRuns = 0.3;

/** Draws the other session of a run; undefined in most runs. */
export function drawRival(dice: Dice): RivalPlan | undefined {
  if (!dice.chance(rivalRuns)) return undefined;
  return {
    holdsAtMs: dice.between(0, dice.pick([300, 2_000, 5_000, 60_000])),
    decidedAfterMs: dice.between(0, dice.pick([50, 2_000, 30_000])),
    end: dice.weighted<RivalPlan["end"]>([
      [4, "captured"],
      [1, "captureFails"],
      [3, "refused"],
    ]),
    endsAfterMs: dice.between(0, dice.pick([100, 30_000, 120_000])),
  };
}

// A statement that would wait for a transaction of the run, which goes on only after it, is repeated a moment later.
const patienceMs = 30;
const againMs = 5;

type RivalParts = {
  readonly server: SqlServer;
  readonly timeline: Timeline;
  readonly epochMs: number;
  readonly merchantId: string;
  readonly plan: RivalPlan;
  readonly note: (what: string) => void;
  readonly onDone: () => Promise<void>;
};

/** The other session of a run. */
export class Rival {
  readonly #parts: RivalParts;
  readonly id: string;
  readonly #attemptId: string;

  /** `sessionId` is the run's own: the other one has nearly the same id. */
  constructor(sessionId: string, parts: RivalParts) {
    this.#parts = parts;
    this.id = `${sessionId.slice(0, -6)}0000aa`;
    this.#attemptId = `${sessionId.slice(0, -6)}0000ab`;
  }

  /** Claims the session, and lets it go on when its time comes. A lease without end keeps every process away. */
  async start(orderRef: string): Promise<void> {
    const { timeline, merchantId, plan } = this.#parts;
    await this.#run(`
      INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at)
      VALUES ($session, '${merchantId}', 4900, 'EUR', '${orderRef}', 1, app.clock(), app.clock() + interval '1 h');
      UPDATE payment_session SET phase = 'PROCESSING', lease_epoch = 1, lease_until = 'infinity', submit_deadline = app.clock() + interval '1 d',
        submitted_at = app.clock() WHERE id = $session;
      INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency, latest_execution_at)
      VALUES ($session, $attempt, 1, 'STRIPE', $attempt, 1, 1, 'why', 4900, 'EUR', app.clock() + interval '1 h');`);
    timeline.after(plan.holdsAtMs, () => this.#hold());
  }

  async #hold(): Promise<void> {
    const { timeline, plan } = this.#parts;
    const held = `PERFORM app.held($session, 1, $attempt, app.clock(), 'rival of ${this.id}', NULL, 20000, 0, NULL, NULL);`;
    const error = await this.#step(held, "holds", () => this.#hold());
    if (error === "LL003") {
      this.#parts.note("the other session has lost the order");
      await this.#run(`
        UPDATE attempt SET status = 'UNKNOWN', failure_kind = 'TIMEOUT' WHERE session_id = $session;
        UPDATE attempt SET status = 'VOIDING' WHERE session_id = $session;
        UPDATE payment_session SET status = 'DEGRADED', decline_code = 'processing_unavailable', settled_at = app.clock() WHERE id = $session;`);
    }
    if (error === undefined) timeline.after(plan.decidedAfterMs, () => this.#decide());
  }

  async #decide(): Promise<void> {
    const { timeline, plan } = this.#parts;
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
    if (error === undefined && plan.end !== "captured") timeline.after(plan.endsAfterMs, () => this.#end());
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

  async #step(text: string, what: string, again: () => Promise<void>): Promise<string | undefined> {
    const error = await this.#run(text);
    if (error === "55P03") this.#parts.timeline.after(againMs, again);
    else if (error !== undefined && error !== "LL003") throw new Error(`the other session cannot go on: ${error}`);
    if (error === undefined) {
      this.#parts.note(`the other session ${what}`);
      await this.#parts.onDone();
    }
    return error;
  }

  /** Returns the SQLSTATE with which the server refused; undefined if it did not. */
  async #run(text: string): Promise<string | undefined> {
    const { server, timeline, epochMs } = this.#parts;
    const named = text.replaceAll("$session", `'${this.id}'`).replaceAll("$attempt", `'${this.#attemptId}'`);
    await server.setClock(epochMs + timeline.nowMs);
    try {
      await server.observe(
        `DO $do$ BEGIN PERFORM set_config('lock_timeout', '${patienceMs}', true); ${named} END $do$`,
      );
      return undefined;
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    }
  }
}

/**
 * Returns the statement that counts the sessions of an order whose money is kept or may be: a winner's hold, a capture that may land,
 * and a capture that neither failed nor was refunded whole. Those that a person was alarmed about do not count.
 */
export const keptOf = (orderRef: string) => ({
  name: "kept_of_order",
  text: `
    SELECT count(*)::int AS kept FROM payment_session s JOIN attempt a ON a.session_id = s.id
    WHERE s.order_ref = $1 AND (a.status = 'AUTHORIZED' OR a.status = 'VOIDING' AND a.capture_ordered_at IS NOT NULL OR a.status = 'CAPTURED'
        AND a.capture_failed_at IS NULL
        AND a.captured_amount_minor > (SELECT coalesce(sum(r.amount_minor), 0) FROM refund r WHERE r.session_id = s.id AND r.status = 'SUCCEEDED'))
      AND NOT EXISTS (SELECT FROM work_item w WHERE w.session_id = s.id AND w.kind = 'PAID_MORE_THAN_ONCE')`,
  values: [orderRef],
});

/** Returns the statements that give the order to the run's session as its restored rows say. */
export const orderRestored = (sessionId: string) => `
  DELETE FROM app.order_winner WHERE session_id = '${sessionId}'; SELECT app.update_order('${sessionId}')`;
