/** The merchant who answers disputes: simultaneously in two pages, and again when no answer came. */
import { evidenceOf, prepareResponse, type ResponseRequest } from "../../disputes/prepare-response.ts";
import { recordResponse, runResponse } from "../../disputes/respond.ts";
import { DomainError } from "../../platform/errors.ts";
import type { DisputeSchedule, PlannedResponse } from "./dispute-plan.ts";
import type { Member } from "./member.ts";
import type { Observed } from "./observed.ts";
import type { Stage } from "./simulated-process.ts";

type Parts = {
  readonly stage: Stage;
  readonly members: readonly Member[];
  readonly merchantId: string;
  readonly plan: DisputeSchedule | undefined;
};

const callsMax = 4;

/** Plays the merchant of a run once a dispute is known. */
export class DisputeMerchant {
  readonly #parts: Parts;
  readonly #answered = new Set<string>();
  #acts = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get isActing(): boolean {
    return this.#acts > 0;
  }

  /** Begins with each dispute that appears. */
  onChange({ session, disputes }: Observed): void {
    const { plan } = this.#parts;
    for (const { id, stage } of disputes) {
      if (plan === undefined || stage === "FRAUD_WARNING" || this.#answered.has(id)) continue;
      this.#answered.add(id);
      for (const [index, planned] of plan.responses.entries())
        this.#after(planned.afterMs, () => this.#answer({ sessionId: session.id, id }, planned, index));
    }
  }

  /** Gives the answer to any process, and again until one has taken it. */
  #answer(dispute: { sessionId: string; id: string }, planned: PlannedResponse, index: number, count = 1): void {
    const { stage, members, merchantId } = this.#parts;
    const { process, core } = stage.dice.pick(members);
    let isAnswered = false;
    if (count < callsMax) {
      this.#after(stage.dice.between(1_000, 25_000), () => {
        if (!isAnswered) this.#answer(dispute, planned, index, count + 1);
      });
    }
    if (!process.isRunning) return;
    const name = { ...dispute, merchantId };
    const request: ResponseRequest =
      planned.type === "ACCEPT"
        ? { type: "ACCEPT" }
        : evidenceOf({ explanation: `It was shipped: ${index}.`, files: [] });
    process.note(() => `receives ${planned.type} ${index} for a dispute`);
    const answer = async () => {
      const prepared = await prepareResponse(core, name, request);
      const recorded = await core.database.transaction((tx) =>
        recordResponse(tx, core, name, { prepared, isTaken: true }),
      );
      if (recorded) await runResponse(core, recorded);
    };
    answer().then(
      () => {
        isAnswered = true;
        process.note(() => "answers the merchant about a dispute");
      },
      (error: Error) => {
        isAnswered = error instanceof DomainError && error.code !== "unavailable";
        process.note(() => `answers the merchant about a dispute: ${error.message}`);
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
