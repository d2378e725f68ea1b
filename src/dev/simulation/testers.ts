/**
 * Card testers: one card, submitted with many wrong security codes over many sessions, simultaneously and one after
 * another.
 */
import { cardLimits } from "../../core/card-testing/card-counts.ts";
import type { Core } from "../../core/core.ts";
import { createSession, type SessionOwner } from "../../core/create-session.ts";
import { attemptIdOf } from "../../core/record/open-attempt.ts";
import { recoverSessionsOnce, submitPayment } from "../../core/submit-payment.ts";
import type { Declined } from "../../gateways/declines.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Dice } from "./dice.ts";
import type { Member } from "./member.ts";
import type { Stage } from "./simulated-process.ts";
import type { SqlServer } from "./sql-server.ts";

/** A submission of the card. While the vault rotates its key, the card has an old fingerprint and a new one. */
type Try = { readonly atMs: number; readonly versions: readonly ("old" | "new")[] };

/** Share of the runs with card testers: each plays a dozen of payments. */
const testedRuns = 0.004;

/** Draws the tries of a run; none in most runs. */
export function drawTesters(dice: Dice): readonly Try[] {
  if (!dice.chance(testedRuns)) return [];
  const withinMs = dice.pick([0, 20, 2_000, 120_000]);
  const rotates = dice.chance(0.3);
  return Array.from({ length: dice.between(8, 16) }, () => {
    const atMs = dice.between(0, withinMs);
    return {
      atMs,
      versions: rotates
        ? dice.pick([
            ["old", "new"],
            ["old", "new"],
            ["new", "old"],
          ] as const)
        : ["old"],
    };
  });
}

/** The answer of every gateway to a wrong security code. */
export const wrongCode: Declined = {
  type: "declined",
  kind: "HARD_DECLINE",
  stop: "same_card_fails",
  declineCode: "incorrect_cvc",
  gatewayCode: "N7",
};

const isTested = "tested ";

/** Returns what a vault knows of a token's card. */
export function fingerprintOf(token: Secret): { fingerprint?: { versions: string[]; isCounted: true } } {
  const text = token.expose();
  if (!text.startsWith(isTested)) return {};
  return { fingerprint: { versions: text.slice(isTested.length).split(" "), isCounted: true } };
}

type Parts = {
  readonly stage: Stage;
  readonly members: readonly Member[];
  readonly server: SqlServer;
  /** Bypasses all processes. */
  readonly direct: () => Core;
  readonly owner: SessionOwner;
  readonly connectionIds: readonly string[];
  readonly price: { readonly amountMinor: number; readonly currency: string };
  readonly seed: number;
  readonly tries: readonly Try[];
  readonly violate: (violation: string | undefined) => void;
};

const lookEveryMs = 10_000;

/** Plays the testers of a run, if it has any. */
export class Testers {
  readonly #parts: Parts;
  readonly #references = new Set<string>();
  /** The sessions of the testers, and those whose card a gateway has seen. */
  readonly #sessions = new Set<string>();
  readonly #seen = new Set<string>();
  #isActing: boolean;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#isActing = parts.tries.length > 0;
  }

  /** True until every session of theirs has ended. */
  get isActing(): boolean {
    return this.#isActing;
  }

  /** True if it plays sessions beside the run's. */
  get hasSessions(): boolean {
    return this.#parts.tries.length > 0;
  }

  async start(): Promise<void> {
    const { tries, stage, owner, price } = this.#parts;
    for (const [index, one] of tries.entries()) {
      const order = { ...price, orderRef: `${this.#orderRef}${index}` };
      const { session } = await createSession(this.#parts.direct(), owner, order);
      this.#sessions.add(encodeId("ps", session.id));
      // A process that dies before it asks a gateway is followed by one that voids there.
      for (const connectionId of this.#parts.connectionIds)
        for (const round of [0, 1, 2])
          this.#references.add(encodeId("att", attemptIdOf({ sessionId: session.id, connectionId, round })));
      stage.timeline.after(one.atMs, () => this.#submit(session.id, one));
    }
    if (this.hasSessions) stage.timeline.after(lookEveryMs, () => this.#lookAt());
  }

  /** Reports whether a request is about a payment of the testers; notes one that shows a gateway their card. */
  sees(attemptReference: string, sessionId: string | undefined): boolean {
    if (sessionId === undefined || !this.#sessions.has(sessionId)) return this.#references.has(attemptReference);
    this.#seen.add(sessionId);
    const { submissionsPerHour } = cardLimits;
    if (this.#seen.size > submissionsPerHour)
      this.#parts.violate(`a card was tried ${this.#seen.size} times in an hour`);
    return true;
  }

  get #orderRef(): string {
    return `tester of seed ${this.#parts.seed} `;
  }

  #submit(id: string, { versions }: Try): void {
    const { stage, members, owner, price, seed } = this.#parts;
    const { process, core } = stage.dice.pick(members);
    if (!process.isRunning) return;
    const { merchantId } = owner;
    const session = {
      id,
      merchantId,
      phase: "IDLE" as const,
      details: null,
      ...price,
      manualCapture: false,
      captureBy: null,
      stored: false,
    };
    const named = versions.map((version) => `${version === "old" ? "a" : "b"}${seed.toString(16).padStart(31, "0")}`);
    process.note(() => `receives a tester's submission of ${encodeId("ps", id)}`);
    const gone = new AbortController();
    stage.timeline.after(1_000, () => gone.abort());
    submitPayment(core, { session, vaultToken: new Secret(isTested + named.join(" ")), signal: gone.signal }).then(
      ({ status, declineCode }) => process.note(() => `answers the tester: ${status} ${declineCode}`),
      (error: Error) => process.note(() => `answers the tester: ${error.message}`),
    );
  }

  /** Lets a process take over from a dead one, until every payment that was submitted has ended. */
  async #lookAt(): Promise<void> {
    const { server, stage, members, violate, tries } = this.#parts;
    const { rows } = await server.observe({ ...endsOf, values: [this.#parts.owner.merchantId, this.#orderRef] });
    const { open, declined } = rows[0] as { open: number; declined: number };
    if (declined > cardLimits.declinesPerDay) violate(`a card was declined ${declined} times in a day`);
    this.#isActing = open > 0 || tries.some(({ atMs }) => atMs >= stage.timeline.nowMs);
    if (!this.#isActing) return;
    stage.timeline.after(lookEveryMs, () => this.#lookAt());
    const { process, core } = stage.dice.pick(members);
    if (process.isRunning) recoverSessionsOnce(core).catch(() => {});
  }
}

const endsOf = {
  name: "ends_of_testers",
  text: `
    SELECT count(*) FILTER (WHERE s.phase = 'PROCESSING')::int AS open,
      count(*) FILTER (WHERE EXISTS (SELECT FROM attempt a WHERE a.session_id = s.id AND a.status = 'DECLINED'))::int AS declined
    FROM payment_session s WHERE s.merchant_id = $1 AND s.order_ref ^@ $2`,
};
