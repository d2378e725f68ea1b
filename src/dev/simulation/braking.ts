/**
 * A merchant that brakes against card testing, or whose braking a person holds on or off, about when the run's session is
 * submitted; with the promises about a card that it has approved before, and one that it has not.
 */
import { createBrakeTurn } from "../../core/card-testing/brake-merchants.ts";
import { recordHold } from "../../core/card-testing/held-braking.ts";
import type { Core } from "../../core/core.ts";
import type { Dice } from "./dice.ts";
import type { Member } from "./member.ts";
import type { Observed } from "./observed.ts";
import type { Stage } from "./simulated-process.ts";
import type { SqlServer } from "./sql-server.ts";

export type BrakingPlan = {
  /** Time of the hold, or of the declines of the testers' cards. */
  readonly atMs: number;
  readonly holdMs: number;
  readonly begunBy: "person" | "testers" | "nobody";
  /** True if the merchant has approved the card of the run before. */
  readonly isKnown: boolean;
  /** True if the page leaves out the data of its browser. */
  readonly hidesBrowser: boolean;
};

const brakingRuns = 0.05;

/** Draws the braking of a run; undefined in most runs. */
export function drawBraking(dice: Dice): BrakingPlan | undefined {
  if (!dice.chance(brakingRuns)) return undefined;
  return {
    // Submissions are made within three seconds.
    atMs: dice.pick([0, 0, dice.between(0, 3_000)]),
    holdMs: dice.between(30_000, 180_000),
    begunBy: dice.pick(["person", "person", "testers", "nobody"]),
    isKnown: dice.chance(0.25),
    hidesBrowser: dice.chance(0.2),
  };
}

type Parts = {
  readonly stage: Stage;
  readonly members: readonly Member[];
  readonly server: SqlServer;
  readonly epochMs: number;
  readonly merchantId: string;
  readonly seed: number;
  readonly plan: BrakingPlan | undefined;
  readonly submittedAtMs: number;
  /** Bypasses all processes. */
  readonly direct: () => Core;
  readonly violate: (violation: string | undefined) => void;
};

type Period = { readonly beganAtMs: number; readonly isOpen: boolean };

const minuteMs = 60_000;
// A turn is due each second. The first ones are played so, and then those that may end the braking.
const turnsEveryMs = [200, 30_000] as const;
const soonMs = 4_000;
// Ten minutes in which the testers' cards count, ten minutes that are calm, the hold, and a turn that is made at last.
const endsWithinMs = 25 * minuteMs;
// More than a merchant without a history may have declined in ten minutes.
const testedCards = 61;

/** Plays the braking of a run, if it has any. */
export class Braking {
  readonly #parts: Parts;
  #isActing: boolean;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#isActing = parts.plan !== undefined;
  }

  /** True until the merchant brakes no more. */
  get isActing(): boolean {
    return this.#isActing;
  }

  /** Begins before the session is submitted, with an earlier approval of its card if the merchant has one. */
  start(): void {
    const { plan, stage } = this.#parts;
    if (plan === undefined) return;
    stage.timeline.after(0, () => this.#remember());
    stage.timeline.after(plan.atMs, () => this.#begin());
    stage.timeline.after(plan.atMs, () => this.#turn());
  }

  async #remember(): Promise<void> {
    const { server, merchantId, seed, epochMs, plan } = this.#parts;
    if (!plan!.isKnown) return;
    const values = [idAt(epochMs - minuteMs, seed), merchantId, cardOf(seed)];
    await server.asReplica({ text: approvedBefore, values });
  }

  async #begin(): Promise<void> {
    const { plan, server, stage, epochMs, merchantId, seed } = this.#parts;
    const { begunBy, holdMs } = plan!;
    await server.setClock(epochMs + stage.timeline.nowMs);
    if (begunBy !== "person") await server.observe({ text: tested, values: [merchantId, String(seed), testedCards] });
    if (begunBy === "testers") return;
    const held = { merchantId, isOn: begunBy === "person", hours: holdMs / (60 * minuteMs), by: "ada" };
    await this.#parts.direct().database.transaction((tx) => recordHold(tx, held));
  }

  /** Lets a process begin or end the braking, as each does every second. */
  async #turn(): Promise<void> {
    const { plan, stage, members, violate } = this.#parts;
    const { nowMs } = stage.timeline;
    const { process, core } = stage.dice.pick(members);
    if (process.isRunning) createBrakeTurn({ ...core, isTest: false })().catch(() => {});
    const isLate = nowMs > Math.max(plan!.atMs, stage.faults.endMs) + endsWithinMs;
    const isOpen = (await this.#periods()).some((period) => period.isOpen);
    if (isLate && isOpen) violate("a merchant brakes without an end");
    this.#isActing = !isLate && (isOpen || nowMs < plan!.atMs + plan!.holdMs + minuteMs);
    if (this.#isActing) stage.timeline.after(turnsEveryMs[nowMs < plan!.atMs + soonMs ? 0 : 1], () => this.#turn());
    else await this.#forget();
  }

  async #periods(): Promise<readonly Period[]> {
    const { server, merchantId, epochMs } = this.#parts;
    const { rows } = await server.observe({ name: "braking_periods", text: periods, values: [merchantId] });
    return rows.map(({ began, isOpen }) => ({ beganAtMs: Number(began) - epochMs, isOpen }));
  }

  /** Removes what the next run would take for its merchant's history. */
  async #forget(): Promise<void> {
    for (const table of ["tested_cards", "tested_payment", "braking", "braking_hold", "alert"])
      await this.#parts.server.observe(`DELETE FROM ${table} WHERE merchant_id = '${this.#parts.merchantId}'`);
  }

  async check(now: Observed, before: Observed | undefined): Promise<void> {
    const { plan, violate } = this.#parts;
    if (plan === undefined) return;
    const isClaimed = now.session.submitted_at !== null && !before?.session.submitted_at;
    if (isClaimed) violate(this.#findWrongBrakes(now, await this.#periods()));
    violate(findWrongStop(now));
    if (now.session.brakes?.includes("NEW_CARD")) violate(findSecondGateway(now, before));
  }

  #findWrongBrakes({ session: { brakes } }: Observed, open: readonly Period[]): string | undefined {
    const { isKnown } = this.#parts.plan!;
    const expected = isKnown ? "KNOWN_CARD" : "NEW_CARD";
    if (open.length === 0 && brakes !== null) return `a payment is braked (${brakes}), and its merchant does not brake`;
    const hadBegun = open.some(({ beganAtMs, isOpen }) => isOpen && beganAtMs < this.#parts.submittedAtMs);
    if (hadBegun ? brakes?.join() === expected : brakes === null || brakes.join() === expected) return undefined;
    return `a card that was ${isKnown ? "" : "never "}approved here is paid with the brakes [${brakes ?? ""}]`;
  }
}

/**
 * A decline after which another gateway got a card that the merchant never approved. Later look-ups may decline an
 * attempt that had timed out.
 */
function findSecondGateway({ attempts }: Observed, before: Observed | undefined): string | undefined {
  const last = attempts.at(-1);
  const failed = attempts.at(-2);
  if (!last || !failed || before === undefined || attempts.length === before.attempts.length) return undefined;
  const earlier = before.attempts.find(({ id }) => id === failed.id);
  const hadTimedOut = earlier !== undefined && !["AUTHORIZING", "DECLINED"].includes(earlier.status);
  const isDeclined = failed.status === "DECLINED" && declines.includes(failed.failure_kind ?? "");
  return isDeclined && !hadTimedOut && last.round === 0
    ? `attempt ${last.sequence} follows a decline, and the merchant brakes`
    : undefined;
}

function findWrongStop({ attempts, session }: Observed): string | undefined {
  const stopped = attempts.find(({ next_because }) => next_because?.includes("brakes against card testing"));
  if (stopped === undefined) return undefined;
  if (!session.brakes?.includes("NEW_CARD")) return "a payment that is not braked got no other gateway";
  const { sequence, failure_kind: kind } = stopped;
  return failures.includes(kind ?? "")
    ? `attempt ${sequence} failed (${kind}), and braking stopped its failover`
    : undefined;
}

const declines = ["HARD_DECLINE", "SOFT_DECLINE"];
const failures = ["TIMEOUT", "GATEWAY_ERROR"];

function cardOf(seed: number): string {
  return `c${seed.toString(16).padStart(31, "0")}`;
}

/** The token of the run's card, which counts (testers.ts). */
export function countedTokenOf(seed: number): string {
  return `tested ${cardOf(seed)}`;
}

function idAt(ms: number, seed: number): string {
  const hex = `${ms.toString(16).padStart(12, "0")}70008000${seed.toString(16).padStart(12, "0")}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const periods = `
  SELECT extract(epoch FROM began_at) * 1000 AS began, ended_at IS NULL AS "isOpen" FROM braking WHERE merchant_id = $1`;

// Inserts payments of different cards, which no other run has.
const tested = `
  INSERT INTO tested_payment (session_id, merchant_id, fingerprint, tested_at)
  SELECT md5($2 || ' session ' || n)::uuid, $1, md5($2 || ' card ' || n)::uuid, app.clock() FROM generate_series(1, $3::int) n`;

const approvedBefore = `
  INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at, status, phase,
    settled_at, submitted_at, captured_via, capture_confirmed, winner_attempt_id, card_fingerprint)
  VALUES ($1, $2, 4900, 'EUR', 'an earlier order', 1, app.clock(), app.clock() + interval '1 h', 'SUCCEEDED', 'DONE',
    app.clock(), app.clock(), 'STRIPE', true, $1, $3)`;
