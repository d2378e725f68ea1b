/**
 * Plays the bank and its challenged customer, who answers late, twice or never, gives up, and returns by a way on which
 * the return may be lost.
 */
import type { Returning } from "../../core/core.ts";
import { cancelAction, findOpenAction, openAction, returnTokenOf, takeReturn } from "../../core/customer-actions.ts";
import { resumeSession } from "../../core/submit-payment.ts";
import { encodeId } from "../../platform/ids.ts";
import type { CustomerPlan } from "./customer-plan.ts";
import type { Member } from "./member.ts";
import type { Observed, ObservedAuthentication } from "./observed.ts";
import { sealing } from "./simulated-core.ts";
import type { SimulatedGateway } from "./simulated-gateway.ts";
import type { Stage } from "./simulated-process.ts";
import type { ProviderWorld } from "./simulated-provider.ts";

// Forged returns in the words of every gateway and bank.
const madeUp = {
  redirectResult: "made up",
  resultCode: "Authorised",
  redirect_status: "succeeded",
  PayerID: "made up",
  cres: Buffer.from(JSON.stringify({ messageType: "CRes", transStatus: "Y" })).toString("base64url"),
};

/** Plays the customer of a run, at each challenge that its session offers. */
export class Customer {
  readonly #stage: Stage;
  readonly #members: readonly Member[];
  readonly #gatewayOf: (connectionId: string) => SimulatedGateway;
  readonly #provider: ProviderWorld;
  readonly #plans: readonly CustomerPlan[];
  readonly #forgesAtMs: readonly number[];
  #challenges = 0;
  readonly #seen = new Set<string>();
  #acts = 0;

  constructor(parts: {
    stage: Stage;
    members: readonly Member[];
    gatewayOf: (connectionId: string) => SimulatedGateway;
    provider: ProviderWorld;
    plans: readonly CustomerPlan[];
    /** Times after a challenge began at which its return address is opened with a made-up result. */
    forgesAtMs: readonly number[];
  }) {
    this.#provider = parts.provider;
    this.#stage = parts.stage;
    this.#members = parts.members;
    this.#gatewayOf = parts.gatewayOf;
    this.#plans = parts.plans;
    this.#forgesAtMs = parts.forgesAtMs;
  }

  get isActing(): boolean {
    return this.#acts > 0;
  }

  /** Begins with a challenge that is not known yet. */
  onChange({ session, authentications }: Observed): void {
    for (const authentication of authentications) {
      const { id, provider, status } = authentication;
      if (provider !== null && status !== "METHOD" && status !== "AWAITING_CUSTOMER") continue;
      const what = provider === null ? id : `${id} ${status}`;
      if (this.#seen.has(what)) continue;
      this.#seen.add(what);
      if (status === "METHOD") {
        this.#checkDevice(session.id, id);
        continue;
      }
      const plan = this.#plans[this.#challenges++ % this.#plans.length];
      if (plan !== undefined) this.#begin(session.id, authentication, plan);
    }
  }

  /** Runs the bank's device check, which reports once, twice or never. */
  #checkDevice(sessionId: string, authenticationId: string): void {
    const { dice } = this.#stage;
    if (dice.chance(0.1)) return;
    this.#at(300, "opens the device check", async ({ core }) => {
      await openAction(core, { sessionId, authenticationId });
    });
    for (const delayMs of dice.pick([[], [500], [500], [900, 901], [11_000]])) {
      this.#return(delayMs, { sessionId, id: authenticationId, isProvided: true }, { threeDSMethodData: "x" });
    }
    // Often while the provider's request is on its way.
    if (dice.chance(0.3)) {
      this.#at(dice.pick([100, 520, 600, 800, 1_000, 1_300]), "gives up", async ({ core }) => {
        await cancelAction(core, { sessionId, authenticationId });
        await resumeSession(core, sessionId);
      });
    }
  }

  #return(delayMs: number, returning: Returning, fields: Record<string, string>, what = "returns"): void {
    this.#at(delayMs, what, async ({ core }) => {
      const resumed = await takeReturn(core, returnTokenOf({ sealing }, returning), new URLSearchParams(fields));
      if (resumed !== undefined) await resumeSession(core, resumed);
    });
  }

  #begin(sessionId: string, authentication: ObservedAuthentication, plan: CustomerPlan): void {
    const { id: authenticationId, attempt_id: attemptId, connection_id } = authentication;
    const named = { sessionId, authenticationId };
    for (const delayMs of this.#forgesAtMs) {
      const returning = attemptId === null ? { id: authenticationId, isProvided: true } : { id: attemptId };
      this.#return(delayMs, { sessionId, ...returning }, madeUp, "returns with a made-up result");
    }
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
      const isTaken =
        attemptId === null
          ? this.#provider.answer(authenticationId, isPassed)
          : this.#gatewayOf(connection_id).answerChallenge(encodeId("att", attemptId), isPassed);
      this.#note(`the customer ${isPassed ? "passes" : "fails"} at the bank${isTaken ? "" : ", which no longer asks"}`);
      if (!isTaken) return;
      for (const delayMs of plan.returnsAfterMs) {
        if (attemptId === null)
          this.#return(delayMs, { sessionId, id: authenticationId, isProvided: true }, { cres: "x" });
        else this.#return(delayMs, { sessionId, id: attemptId }, { redirectResult: attemptId });
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
