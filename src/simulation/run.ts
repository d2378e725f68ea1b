/** One seed, played: a session, its customer, two or three processes of the service, its gateways, and everything that goes wrong. */
import { compareOnce } from "../core/compare.ts";
import type { Core } from "../core/core.ts";
import { createSession } from "../core/create-session.ts";
import { expireOnce } from "../core/expire-sessions.ts";
import { reconcileOnce } from "../core/reconcile.ts";
import { voidStraysOnce } from "../core/stray-holds.ts";
import { submitPayment } from "../core/submit-payment.ts";
import { comparisonEveryMs } from "../limits.ts";
import { processNoticesOnce } from "../notifications/process-notices.ts";
import { Database } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { Dice } from "./dice.ts";
import { Faults } from "./faults.ts";
import { History } from "./history.ts";
import { findUnfinished, findViolation, type Moment } from "./invariants.ts";
import { NoticeCarrier } from "./notices.ts";
import { describeObserved, type Observed, observedOf, observedQuery } from "./observed.ts";
import { accounts, drawSchedule, type Schedule, type Submission, shapes } from "./schedule.ts";
import { type GatewayWorld, type Sent, SimulatedConnector } from "./simulated-connector.ts";
import { createSimulatedCore, type LoggedError, simulatedEntropy } from "./simulated-core.ts";
import { SimulatedGateway } from "./simulated-gateway.ts";
import { SimulatedPool } from "./simulated-pool.ts";
import { SimulatedProcess, type Stage } from "./simulated-process.ts";
import type { SimulationDatabase } from "./simulation-database.ts";
import { Timeline } from "./timeline.ts";

/** How a run ended. `walls` are errors by which PostgreSQL refused what the code tried. */
export type RunResult = {
  readonly seed: number;
  readonly violation: string | undefined;
  readonly status: string;
  readonly steps: number;
  readonly walls: readonly string[];
  readonly history: readonly string[];
};

type Member = { readonly process: SimulatedProcess; core: Core; recoveryAtMs: number; isVoidingStrays: boolean };

// Long enough for every repeat with its longest pause, several times over.
const endWithinMs = 6 * 3_600_000;
// Whatever still travels when a session is over arrives within this time.
const stragglersMs = 600_000;
const recoveryEveryMs = 1_000;
const retryMs = 1_000;

/** Plays a seed from its beginning; the same seed gives the same run. */
export async function playSeed(
  database: SimulationDatabase,
  options: { seed: number; keepHistory: boolean },
): Promise<RunResult> {
  const run = new Run(database, options);
  return run.play();
}

class Run {
  readonly #seed: number;
  readonly #database: SimulationDatabase;
  readonly #stage: Stage;
  readonly #epochMs: number;
  readonly #schedule: Schedule;
  readonly #members: readonly Member[];
  readonly #gateways: readonly SimulatedGateway[];
  readonly #notices: NoticeCarrier;
  readonly #entropy: ReturnType<typeof simulatedEntropy>;
  readonly #capturesOnTheirWay = new Map<string, number>();
  readonly #walls: string[] = [];
  #sessionId = "";
  #observed: Observed | undefined;
  #changedAtMs = 0;
  #violation: string | undefined;

  constructor(database: SimulationDatabase, { seed, keepHistory }: { seed: number; keepHistory: boolean }) {
    this.#seed = seed;
    this.#database = database;
    this.#epochMs = database.nextEpochMs();
    const dice = new Dice(seed);
    const timeline = new Timeline(dice);
    const faults = new Faults(dice);
    this.#stage = { dice, timeline, faults, history: new History({ keep: keepHistory }) };
    this.#schedule = drawSchedule(dice);
    this.#entropy = simulatedEntropy({ seed, epochMs: this.#epochMs, stage: this.#stage });
    this.#members = Array.from({ length: this.#schedule.processes }, (_, index) => this.#createMember(index + 1));
    this.#notices = new NoticeCarrier(
      this.#stage,
      this.#members.map((member) => ({
        process: member.process,
        core: () => member.core,
        onStored: () => this.#members.forEach((each) => this.#processNotices(each)),
      })),
    );
    this.#gateways = accounts.map(({ gateway }, index) => this.#createGateway(gateway, index));
  }

  async play(): Promise<RunResult> {
    const { timeline } = this.#stage;
    const { server } = this.#database;
    server.onChange = () => this.#look();
    this.#describeSchedule();
    await server.setClock(this.#epochMs);
    await this.#database.setRule(this.#schedule);
    await this.#createSession();
    for (const submission of this.#schedule.submissions) {
      timeline.after(submission.atMs, () => this.#submit(submission));
    }
    for (const member of this.#members) {
      this.#expireWhenDue(member);
      this.#compareHourly(member);
    }
    while (this.#violation === undefined && timeline.nowMs < this.#stage.faults.endMs + endWithinMs) {
      if (!(await timeline.runNext()) || this.#isOver()) break;
    }
    this.#violation ??= findUnfinished(this.#moment());
    return {
      seed: this.#seed,
      violation: this.#violation,
      status: this.#observed?.session.status ?? "",
      steps: this.#stage.history.steps,
      walls: this.#walls,
      history: this.#stage.history.lines,
    };
  }

  #isOver(): boolean {
    const { timeline, faults } = this.#stage;
    const { session, strayDueAt } = this.#observed!;
    if (session.phase !== "DONE" || strayDueAt !== null || timeline.nowMs < faults.endMs) return false;
    const isHeld = this.#gateways.some(({ authorizations }) => authorizations.some(({ state }) => state === "held"));
    return !isHeld && timeline.nowMs > this.#changedAtMs + stragglersMs;
  }

  /** A moment of the database, on the run's own clock. */
  #since(moment: string): number {
    return Date.parse(moment) - this.#epochMs;
  }

  #describeSchedule(): void {
    const { faults } = this.#stage;
    this.#note(() => `seed ${this.#seed}; faults until ${faults.endMs / 1000} s: ${JSON.stringify(faults.rates)}`);
    for (const index of this.#schedule.plan) {
      this.#note(() => `plan: ${accounts[index]?.gateway} ${JSON.stringify(this.#schedule.behaviours[index])}`);
    }
    this.#note(() => `fails over on ${this.#schedule.failoverOn.join(", ") || "nothing"}`);
  }

  #note(what: () => string): void {
    this.#stage.history.add(this.#stage.timeline.nowMs, "", what);
  }

  // Processes

  #createMember(number: number): Member {
    const process = new SimulatedProcess(`process ${number}`, this.#stage);
    const { server } = this.#database;
    const pool = new SimulatedPool({ process, server, stage: this.#stage, epochMs: this.#epochMs });
    const start = () =>
      createSimulatedCore({
        process,
        pool,
        stage: this.#stage,
        entropy: this.#entropy,
        connectors: this.#connectorsOf(process),
        onError: (line) => this.#onError(process, line),
      });
    const member: Member = { process, core: start(), recoveryAtMs: Number.POSITIVE_INFINITY, isVoidingStrays: false };
    process.onKill = () => pool.abandon();
    process.onStop = (ms) => pool.stopFor(ms);
    process.onStart = () => {
      member.core = start();
      member.recoveryAtMs = Number.POSITIVE_INFINITY;
      member.isVoidingStrays = false;
      this.#recoverWhenDue(member);
      this.#expireWhenDue(member);
      this.#processNotices(member);
      this.#voidStraysWhenDue(member);
      this.#compareHourly(member);
    };
    return member;
  }

  #connectorsOf(process: SimulatedProcess): Map<string, SimulatedConnector> {
    const world: GatewayWorld = {
      gatewayOf: (connectionId) => this.#gateways[this.#database.connectionIds.indexOf(connectionId)]!,
      onSent: (sent) => this.#onSent(sent),
      captureOnItsWay: (attempt, change) => {
        this.#capturesOnTheirWay.set(attempt, (this.#capturesOnTheirWay.get(attempt) ?? 0) + change);
      },
      onExecuted: () => this.#check(this.#observed),
    };
    return new Map(
      accounts.map(({ gateway }) => [
        gateway,
        new SimulatedConnector(gateway, shapes[gateway], { process, stage: this.#stage, world }),
      ]),
    );
  }

  #createGateway(gateway: keyof typeof shapes, index: number): SimulatedGateway {
    const connectionId = this.#database.connectionIds[index]!;
    return new SimulatedGateway(shapes[gateway], this.#schedule.behaviours[index]!, (kind, about, declined) =>
      this.#notices.send(connectionId, {
        kind,
        attemptReference: about.attemptReference,
        gatewayReference: about.gatewayReference,
        ...(kind === "absent" ? {} : { amount: { amountMinor: about.amountMinor, currency: about.currency } }),
        declined,
      }),
    );
  }

  // What the processes do by themselves. Turns that would find nothing are left out: they change no row.

  #recoverWhenDue(member: Member): void {
    const session = this.#observed?.session;
    if (session?.phase !== "PROCESSING" || session.lease_until === null) return;
    const { timeline, dice } = this.#stage;
    const lapsedMs = this.#since(session.lease_until);
    const atMs = Math.max(timeline.nowMs, lapsedMs + 1) + dice.between(0, recoveryEveryMs);
    if (member.recoveryAtMs <= atMs) return;
    member.recoveryAtMs = atMs;
    member.process.later(atMs - timeline.nowMs, async () => {
      if (member.recoveryAtMs !== atMs) return;
      member.recoveryAtMs = Number.POSITIVE_INFINITY;
      if (this.#since(this.#observed?.session.lease_until ?? "") >= timeline.nowMs) return this.#recoverWhenDue(member);
      const again = () => member.process.later(recoveryEveryMs, () => this.#recoverWhenDue(member));
      reconcileOnce(member.core).then(again, again);
    });
  }

  #expireWhenDue(member: Member): void {
    const session = this.#observed?.session;
    if (session?.phase !== "IDLE") return;
    const { timeline, dice } = this.#stage;
    const dueMs = Math.max(timeline.nowMs, this.#since(session.expires_at)) + dice.between(0, retryMs);
    const again = () => this.#expireWhenDue(member);
    member.process.later(dueMs - timeline.nowMs, () => {
      if (this.#observed?.session.phase === "IDLE") expireOnce(member.core).then(again, again);
    });
  }

  #processNotices(member: Member): void {
    const { process } = member;
    process.later(this.#stage.dice.between(0, 1_000), () => {
      processNoticesOnce(member.core).catch(() => process.later(retryMs, () => this.#processNotices(member)));
    });
  }

  #voidStraysWhenDue(member: Member): void {
    const { timeline, dice } = this.#stage;
    const dueAt = this.#observed?.strayDueAt;
    if (dueAt == null || member.isVoidingStrays) return;
    member.isVoidingStrays = true;
    const delayMs = Math.max(0, this.#since(dueAt) - timeline.nowMs) + dice.between(0, recoveryEveryMs);
    const again = () => {
      member.isVoidingStrays = false;
      this.#voidStraysWhenDue(member);
    };
    member.process.later(delayMs, () => void voidStraysOnce(member.core).then(again, again));
  }

  #compareHourly(member: Member): void {
    const { timeline, dice } = this.#stage;
    const delayMs = comparisonEveryMs - (timeline.nowMs % comparisonEveryMs) + dice.between(0, recoveryEveryMs);
    member.process.later(delayMs, () => {
      const turn = async () => {
        while (await compareOnce(member.core));
      };
      const again = () => this.#compareHourly(member);
      void turn().then(again, again);
    });
  }

  // The merchant and the customer

  async #createSession(): Promise<void> {
    const { server, merchantId } = this.#database;
    const direct = new Database({ query: server.observe.bind(server) } as never);
    const { sessionLifetimeMs } = this.#schedule;
    const owner = { merchantId, sessionLifetimeMs, checkoutOrigins: [], publishableKey: "switchyard_test_pk_1" };
    const order = { amountMinor: 4900, currency: "EUR", orderRef: `order of seed ${this.#seed}` };
    const { session } = await createSession({ ...this.#members[0]!.core, database: direct }, owner, order);
    this.#sessionId = session.id;
    await this.#look();
  }

  /** A page whose request gets no answer sends it again, to whichever process takes it. */
  #submit(submission: Submission, tries = 1): void {
    const { timeline, dice } = this.#stage;
    const repeatMs = dice.between(1_000, 25_000);
    const repeat = () => timeline.after(repeatMs, () => this.#submit(submission, tries + 1));
    const { process, core } = dice.pick(this.#members);
    if (this.#observed?.session.phase !== "IDLE" || tries > submitTriesMax) return;
    if (!process.isRunning) return repeat();
    const gone = new AbortController();
    timeline.after(submission.patienceMs, () => gone.abort());
    process.note(() => `is asked to submit ${submission.token}`);
    const vaultToken = new Secret(submission.token);
    submitPayment(core, { sessionId: this.#sessionId, vaultToken, signal: gone.signal }).then(
      ({ status }) => process.note(() => `answers the page: ${status}`),
      (error: Error) => process.note(() => `answers the page: ${error.message}`),
    );
    repeat();
  }

  // What is watched

  async #look(): Promise<void> {
    const before = this.#observed;
    this.#changedAtMs = this.#stage.timeline.nowMs;
    this.#observed = observedOf(await this.#database.server.observe(observedQuery(this.#sessionId)));
    this.#noteChange(before);
    this.#check(before);
    for (const member of this.#members) {
      this.#recoverWhenDue(member);
      this.#voidStraysWhenDue(member);
    }
  }

  #noteChange(before: Observed | undefined): void {
    const now = describeObserved(this.#observed!);
    if (before === undefined || now !== describeObserved(before)) this.#note(() => now);
  }

  #moment(): Moment {
    return {
      observed: this.#observed!,
      authorizations: this.#gateways.flatMap(({ authorizations }) => authorizations),
      capturesOnTheirWay: this.#capturesOnTheirWay,
      referenceOf: (attemptId) => encodeId("att", attemptId),
    };
  }

  #check(before: Observed | undefined): void {
    this.#violate(findViolation(this.#moment(), before));
  }

  #onSent({ type, attemptReference }: Sent): void {
    const attempt = this.#observed?.attempts.find(({ id }) => encodeId("att", id) === attemptReference);
    if (attempt === undefined) this.#violate(`${type} was sent for an attempt that is not committed`);
    if (type === "capture" && attempt?.capture_started_at === null)
      this.#violate("a capture was sent before it was ordered");
  }

  #onError(process: SimulatedProcess, line: LoggedError): void {
    process.note(() => `logs an error: ${line.msg}: ${line.err?.message ?? ""}`);
    if (line.err?.code?.startsWith("23")) this.#walls.push(line.err.message);
  }

  #violate(violation: string | undefined): void {
    if (violation === undefined || this.#violation !== undefined) return;
    this.#violation = violation;
    this.#note(() => `VIOLATION: ${violation}`);
  }
}

const submitTriesMax = 5;
