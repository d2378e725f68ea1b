/** The payments of a run beside its session, which its own checks leave out: of card testers, and of a merchant's schedulers. */
import type { Core } from "../../core/core.ts";
import type { SessionOwner } from "../../core/create-session.ts";
import type { Declined } from "../../gateways/declines.ts";
import type { Member } from "./member.ts";
import { price, type Schedule } from "./schedule.ts";
import { Schedulers, stoppedCard } from "./schedulers.ts";
import type { Authorization } from "./simulated-gateway.ts";
import type { Stage } from "./simulated-process.ts";
import type { SqlServer } from "./sql-server.ts";
import { Testers, wrongCode } from "./testers.ts";

type Parts = {
  readonly stage: Stage;
  readonly members: readonly Member[];
  readonly server: SqlServer;
  /** Bypasses all processes. */
  readonly direct: () => Core;
  readonly owner: SessionOwner;
  readonly connectionIds: readonly string[];
  readonly seed: number;
  readonly schedule: Pick<Schedule, "testers" | "schedulers">;
  /** Returns the authorizations of every payment. */
  readonly authorizations: () => readonly Authorization[];
  readonly violate: (violation: string | undefined) => void;
};

/** Plays the other payments of a run, if it has any. */
export class OtherPayments {
  readonly #parts: Parts;
  readonly #testers: Testers;
  readonly #schedulers: Schedulers;

  constructor(parts: Parts) {
    const { testers: tries, schedulers: plan } = parts.schedule;
    this.#parts = parts;
    this.#testers = new Testers({ ...parts, price, tries });
    this.#schedulers = new Schedulers({ ...parts, plan });
  }

  /** True until every one of their sessions has ended. */
  get isActing(): boolean {
    return this.#testers.isActing || this.#schedulers.isActing;
  }

  /** True if they have sessions. */
  get hasSessions(): boolean {
    return this.#testers.hasSessions || this.#schedulers.hasSessions;
  }

  async start(): Promise<void> {
    await this.#testers.start();
    await this.#schedulers.start();
  }

  /** Reports whether a request is about one of them. */
  sees(attemptReference: string, sessionId: string | undefined): boolean {
    return this.#testers.sees(attemptReference, sessionId) || this.#schedulers.sees(attemptReference);
  }

  /** Returns the decline of an attempt by every gateway: a card tester's, or of a card that its bank has stopped. */
  declineOf(attemptReference: string): Declined | undefined {
    if (this.#testers.sees(attemptReference, undefined)) return wrongCode;
    return this.#schedulers.isStopped(attemptReference) ? stoppedCard : undefined;
  }

  /** Returns the authorizations of the run's own session. */
  withoutOthers(): readonly Authorization[] {
    return this.#parts.authorizations().filter(({ attemptReference }) => !this.#schedulers.sees(attemptReference));
  }

  /** Returns the sessions of theirs that a restore loses too. */
  sessionIds(): Promise<readonly string[]> {
    return this.#schedulers.sessionIds();
  }

  onRestored(): void {
    this.#schedulers.onRestored();
  }

  /** Checks the money that the gateways have taken. */
  check(): void {
    this.#schedulers.check();
  }
}
