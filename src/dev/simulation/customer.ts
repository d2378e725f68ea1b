/**
 * The customer who is asked to authenticate, and the bank: answers late, twice or never, gives up, and returns by a
 * way on which the return may be lost.
 */
import { cancelAction, findOpenAction, openAction, returnTokenOf, takeReturn } from "../../core/customer-actions.ts";
import { resumeSession } from "../../core/submit-payment.ts";
import { encodeId } from "../../platform/ids.ts";
import type { CustomerPlan } from "./customer-plan.ts";
import type { Member } from "./member.ts";
import type { Observed, ObservedAuthentication } from "./observed.ts";
import { sealing } from "./simulated-core.ts";
import type { SimulatedGateway } from "./simulated-gateway.ts";
import type { Stage } from "./simulated-process.ts";

/** Plays the customer of a run, at each challenge that its session offers. */
export class Customer {
  readonly #stage: Stage;
  readonly #members: readonly Member[];
  readonly #gatewayOf: (connectionId: string) => SimulatedGateway;
  readonly #plans: readonly CustomerPlan[];
  readonly #seen = new Set<string>();
  #acts = 0;

  constructor(parts: {
    stage: Stage;
    members: readonly Member[];
    gatewayOf: (connectionId: string) => SimulatedGateway;
    plans: readonly CustomerPlan[];
  }) {
    this.#stage = parts.stage;
    this.#members = parts.members;
    this.#gatewayOf = parts.gatewayOf;
    this.#plans = parts.plans;
  }

  /** True while the customer or the bank will still act. */
  get isActing(): boolean {
    return this.#acts > 0;
  }

  /** Begins with a challenge that is not known yet. */
  onChange({ session, authentications }: Observed): void {
    for (const authentication of authentications) {
      if (this.#seen.has(authentication.id)) continue;
      this.#seen.add(authentication.id);
      const plan = this.#plans[(this.#seen.size - 1) % this.#plans.length];
      if (plan !== undefined) this.#begin(session.id, authentication, plan);
    }
  }

  #begin(sessionId: string, authentication: ObservedAuthentication, plan: CustomerPlan): void {
    const { id: authenticationId, attempt_id, connection_id } = authentication;
    const named = { sessionId, authenticationId };
    this.#at(300, "opens the action", async ({ core }) => {
      const action = await findOpenAction(core, { id: sessionId, awaitingSince: new Date(0) });
      if (action?.id === authenticationId) await openAction(core, named);
    });
    if (plan.cancelsAtMs !== undefined) {
      this.#at(Math.max(1, plan.cancelsAtMs), "gives up", async ({ core }) => {
        await cancelAction(core, named);
        await resumeSession(core, sessionId);
      });
    }
    if (plan.answer === "leave") return;
    const isPassed = plan.answer === "pass";
    this.#act(plan.answersAtMs, () => {
      const isTaken = this.#gatewayOf(connection_id).answerChallenge(encodeId("att", attempt_id), isPassed);
      this.#note(`the customer ${isPassed ? "passes" : "fails"} at the bank${isTaken ? "" : ", which no longer asks"}`);
      if (!isTaken) return;
      for (const delayMs of plan.returnsAfterMs) {
        this.#at(delayMs, "returns", async ({ core }) => {
          const fields = new URLSearchParams({ redirectResult: attempt_id });
          const resumed = await takeReturn(core, returnTokenOf({ sealing }, { sessionId, id: attempt_id }), fields);
          if (resumed !== undefined) await resumeSession(core, resumed);
        });
      }
    });
  }

  /** Lets the customer's page call one of the processes, which may be dead or die on the way. */
  #at(delayMs: number, what: string, call: (member: Member) => Promise<void>): void {
    this.#act(delayMs, () => {
      const member = this.#stage.dice.pick(this.#members);
      if (!member.process.isRunning) return;
      member.process.note(() => `the customer ${what}`);
      call(member).catch((error: Error) => member.process.note(() => `answers the customer: ${error.message}`));
    });
  }

  #act(delayMs: number, act: () => void): void {
    this.#acts++;
    this.#stage.timeline.after(delayMs, () => {
      this.#acts--;
      act();
    });
  }

  #note(what: string): void {
    const { history, timeline } = this.#stage;
    history.add(timeline.nowMs, "", () => what);
  }
}
