/** The merchant's backend that cancels the run's session, or opens another one in its place, about when the customer submits it. */
import { cancelSession } from "../../core/capture-later.ts";
import { createSession, type NewSession, type SessionOwner } from "../../core/create-session.ts";
import { DomainError } from "../../platform/errors.ts";
import { encodeId } from "../../platform/ids.ts";
import type { Dice } from "./dice.ts";
import type { Member } from "./member.ts";
import type { Observed } from "./observed.ts";
import type { Stage } from "./simulated-process.ts";
import type { SqlServer } from "./sql-server.ts";

/** A change of the session, repeated until it is answered. */
export type ShopPlan = { readonly type: "cancel" | "replace"; readonly atMs: number };

const changingRuns = 0.04;

/** Draws the merchant's change of a session that is submitted at `submittedAtMs`; undefined in most runs. */
export function drawShop(dice: Dice, submittedAtMs: number): ShopPlan | undefined {
  if (!dice.chance(changingRuns)) return undefined;
  // The time is mostly during the submission.
  const aroundMs = dice.pick([dice.between(-5, 30), dice.between(-300, 1_500), dice.between(0, 60_000)]);
  return { type: dice.pick(["cancel", "replace"]), atMs: Math.max(0, submittedAtMs + aroundMs) };
}

type Parts = {
  readonly stage: Stage;
  readonly server: SqlServer;
  readonly members: readonly Member[];
  readonly plan: ShopPlan | undefined;
  readonly owner: SessionOwner;
  readonly order: NewSession;
  readonly observed: () => Observed;
  readonly violate: (violation: string | undefined) => void;
};

const callsMax = 6;

/** Plays the merchant's backend, and checks that one of a submission and the change wins. */
export class Shop {
  readonly #parts: Parts;
  #acts = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    if (parts.plan !== undefined) this.#after(parts.plan.atMs, () => this.#ask(1));
  }

  get isActing(): boolean {
    return this.#acts > 0;
  }

  /** True if it may have opened a session that is still open at the end of the run. */
  get opensAnother(): boolean {
    return this.#parts.plan?.type === "replace";
  }

  /** Checks that one session has taken the place of the run's if it says so, and none otherwise. `ids`: those of the run. */
  async findWrongSuccessors(
    { replaced_by: replacedBy, status }: Observed["session"],
    ids: readonly (string | undefined)[],
  ): Promise<string | undefined> {
    const { server, owner, order } = this.#parts;
    const known = ids.filter((id) => id !== undefined);
    const { rows } = await server.observe(countSuccessors(owner.merchantId, order.orderRef, known));
    return rows[0].count !== Number(replacedBy !== null) || (replacedBy !== null && status === "SUCCEEDED")
      ? `${rows[0].count} sessions have taken the place of one that is ${status}`
      : undefined;
  }

  #ask(count: number): void {
    const { stage, members, plan, owner, order } = this.#parts;
    const { process, core } = stage.dice.pick(members);
    const sessionId = this.#parts.observed().session.id;
    let isAnswered = false;
    if (count < callsMax) {
      this.#after(stage.dice.between(1_000, 25_000), () => {
        if (!isAnswered) this.#ask(count + 1);
      });
    }
    if (!process.isRunning) return;
    process.note(() => `is told to ${plan!.type} the session`);
    const changed =
      plan!.type === "cancel"
        ? cancelSession(core, { merchantId: owner.merchantId, sessionId }).then(() => undefined)
        : createSession(core, owner, { ...order, replaces: { sessionId, core } }, `another of ${sessionId}`).then(
            ({ session }) => session.id,
          );
    changed.then(
      (successor) => {
        isAnswered = true;
        process.note(() => `answers the shop: ${successor ? encodeId("ps", successor) : "cancelled"}`);
        this.#parts.violate(findFalseAnswer(successor, this.#parts.observed()));
      },
      (error: Error & { code?: string }) => {
        isAnswered = error instanceof DomainError && error.code !== "idempotency_in_progress";
        process.note(() => `answers the shop: ${error.message}`);
        this.#parts.violate(findFalseRefusal(error.code, this.#parts.observed()));
      },
    );
  }

  #after(ms: number, act: () => void): void {
    this.#acts++;
    this.#parts.stage.timeline.after(ms, () => {
      this.#acts--;
      act();
    });
  }
}

function findFalseAnswer(successor: string | undefined, { session }: Observed): string | undefined {
  const { status, expired_because: because, replaced_by: replacedBy } = session;
  if (successor !== undefined)
    return replacedBy === successor ? undefined : `a session was replaced, and names ${replacedBy ?? "no other one"}`;
  return because === "CANCELLED" ? undefined : `a session was cancelled, and is ${status} (${because})`;
}

function findFalseRefusal(code: unknown, { session }: Observed): string | undefined {
  const { status, phase, submitted_at: submittedAt, replaced_by: replacedBy } = session;
  const isWrong =
    (code === "session_being_paid" && submittedAt === null) ||
    (code === "session_ended" && status === "CREATED") ||
    // The session has one successor, whose key finds it again.
    code === "session_replaced" ||
    code === "not_held" ||
    code === "not_found";
  return isWrong
    ? `the shop received ${code}, but the session is ${status} ${phase}, replaced by ${replacedBy}`
    : undefined;
}

const countSuccessors = (merchantId: string, orderRef: string, ids: readonly string[]) => ({
  name: "successors",
  text: `SELECT count(*)::int AS count FROM payment_session WHERE merchant_id = $1 AND order_ref = $2 AND id <> ALL ($3::uuid[])`,
  values: [merchantId, orderRef, ids],
});
