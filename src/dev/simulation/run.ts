/** Plays one seed: a session, its customer, processes of the service, its gateways, and all of the faults. */
import type { QueryResult } from "pg";
import type { Core } from "../../core/core.ts";
import { createSession, type NewSession, type SessionOwner } from "../../core/create-session.ts";
import type { Declined } from "../../gateways/declines.ts";
import { declareRestore } from "../../oversight/declare-restore.ts";
import { Database } from "../../platform/database.ts";
import { encodeId } from "../../platform/ids.ts";
import type { Runtime } from "../../platform/runtime.ts";
import { type Actors, createActors } from "./actors.ts";
import { Callers } from "./callers.ts";
import { Dice } from "./dice.ts";
import { findUnfinishedDispute } from "./dispute-invariants.ts";
import { newSessionOf, ownerOf } from "./drawn-session.ts";
import { Faults } from "./faults.ts";
import type { GatewayWorld, Sent } from "./gateway-world.ts";
import { History } from "./history.ts";
import { findUnfinished, findViolation, holdsToVoid, type Moment } from "./invariants.ts";
import { isRefused, lostRefusals } from "./lost-refusals.ts";
import { Member } from "./member.ts";
import { isReportedCaptured, isReportLost, NotificationCarrier } from "./notifications.ts";
import { describeEnd, describeObserved, type Observed, observedOf, observedQuery } from "./observed.ts";
import { openRefunds } from "./refund-invariants.ts";
import { noRefunds } from "./refund-plan.ts";
import { RequestsSeen } from "./requests-seen.ts";
import {
  accounts,
  demandsAuthentication,
  describeSchedule,
  drawSchedule,
  price,
  type Schedule,
  type SimulatedGatewayName,
  shapes,
} from "./schedule.ts";
import { restoreLater } from "./session-backup.ts";
import { findUnsettled } from "./settlement-invariants.ts";
import { SimulatedConnector } from "./simulated-connector.ts";
import { createSimulatedCore, type LoggedError, simulatedRuntime } from "./simulated-core.ts";
import { SimulatedGateway } from "./simulated-gateway.ts";
import { SimulatedPool } from "./simulated-pool.ts";
import type { SimulatedProcess, Stage } from "./simulated-process.ts";
import { noProvider, ProviderWorld, SimulatedProvider } from "./simulated-provider.ts";
import type { MadeLine } from "./simulated-statements.ts";
import type { SimulationDatabase } from "./simulation-database.ts";
import { Timeline } from "./timeline.ts";
import { Unheard } from "./unheard.ts";

/** The end of a run. `refusals` are errors with which PostgreSQL refused statements of the code. */
export type RunResult = {
  readonly seed: number;
  readonly violation: string | undefined;
  readonly status: string;
  /** True if the session has ended and is at rest. */
  readonly isDone: boolean;
  readonly steps: number;
  readonly refusals: readonly string[];
  readonly history: readonly string[];
};

// Several passes of the hourly reconciliation, and every repeat with its longest pause several times over.
const endWithinMs = 6 * 3_600_000;
// Messages still under way when a session is over arrive within this time.
const stragglersMs = 600_000;
// A process that was stopped between reading the credentials and sending may send with those that were replaced meanwhile.
const rotationGraceMs = 600_000;
// The longest runs take about a tenth of it.
const stepsMax = 30_000;
const referenceOf = (refundId: string) => encodeId("ref", refundId);

/** Plays a seed from its beginning; the same seed gives the same run. */
export async function playSeed(
  database: SimulationDatabase,
  options: { seed: number; keepHistory: boolean },
): Promise<RunResult> {
  return new Run(database, options).play();
}

class Run implements GatewayWorld {
  readonly #seed: number;
  readonly #database: SimulationDatabase;
  readonly #epochMs: number;
  readonly #stage: Stage;
  readonly #schedule: Schedule;
  readonly #owner: SessionOwner;
  readonly #newSession: NewSession;
  readonly #runtime: Runtime;
  readonly #members: readonly Member[];
  readonly #gateways: readonly SimulatedGateway[];
  readonly #notifications: NotificationCarrier;
  readonly #requests = new RequestsSeen();
  readonly #provider: ProviderWorld;
  readonly #refusals: string[] = [];
  /** The time at which the faults are over, including those that take hours. */
  readonly #calmAtMs: number;
  readonly #unheard: Unheard;
  readonly #actors: Actors;
  #sessionId = "";
  #observed: Observed | undefined;
  #isRestored = false;
  #lostRefusals: readonly string[] = [];
  #changedAtMs = 0;
  #violation: string | undefined;

  constructor(database: SimulationDatabase, { seed, keepHistory }: { seed: number; keepHistory: boolean }) {
    this.#seed = seed;
    this.#database = database;
    this.#epochMs = database.nextEpochMs();
    const dice = new Dice(seed);
    const timeline = new Timeline(dice);
    this.#stage = { dice, timeline, faults: new Faults(dice), history: new History({ keep: keepHistory }) };
    this.#schedule = drawSchedule(dice, seed);
    const { longWaits, refunds, disputes } = this.#schedule;
    const unheardMs = [longWaits.unheardCapturesMs, refunds?.unheardMs, disputes?.unheardMs];
    this.#unheard = new Unheard({ capture: unheardMs[0], refund: unheardMs[1], answerDispute: unheardMs[2] });
    this.#owner = ownerOf(this.#schedule, database.merchantId);
    this.#newSession = newSessionOf(this.#schedule, seed);
    this.#runtime = simulatedRuntime({ seed, epochMs: this.#epochMs, stage: this.#stage });
    this.#provider = new ProviderWorld(this.#schedule.authentication?.provider ?? noProvider, (violation) =>
      this.#violate(violation),
    );
    this.#members = Array.from({ length: this.#schedule.processes }, (_, index) => this.#createMember(index + 1));
    const { notificationMs: longestMs, unheardCapturesMs, authorizeAgainMs } = this.#schedule.longWaits;
    const absentsFromMs = this.#schedule.hasStaleAbsents ? this.#schedule.restore?.atMs : undefined;
    this.#notifications = new NotificationCarrier(this.#stage, this.#members, { longestMs, absentsFromMs });
    const restoredMs = this.#schedule.restore?.atMs ?? 0;
    this.#calmAtMs = this.#stage.faults.endMs + Math.max(longestMs, unheardCapturesMs, authorizeAgainMs, restoredMs);
    this.#gateways = accounts.map(({ gateway }, index) => this.#createGateway(gateway, index));
    this.#actors = createActors({
      ...{
        seed,
        database,
        epochMs: this.#epochMs,
        stage: this.#stage,
        schedule: this.#schedule,
        members: this.#members,
      },
      ...{ owner: this.#owner, newSession: this.#newSession, gateways: this.#gateways, provider: this.#provider },
      direct: () => this.#directCore(),
      observed: () => this.#observed!,
      isRestored: () => this.#isRestored,
      onByHand: () => this.onExecuted(),
      violate: (violation) => this.#violate(violation),
      note: (what) => this.#note(() => what),
    });
  }

  async play(): Promise<RunResult> {
    const { timeline, history, faults } = this.#stage;
    const { server } = this.#database;
    server.watching = undefined;
    server.onChange = (observed) => this.#look(observed);
    for (const line of describeSchedule(this.#schedule, this.#seed, faults)) this.#note(() => line);
    await server.setClock(this.#epochMs);
    await this.#database.begin(this.#schedule);
    if (this.#schedule.disputes) await this.#database.forgetFeeds();
    await this.#createSession();
    const callers = this.#createCallers();
    for (const submission of this.#schedule.submissions) {
      timeline.after(submission.atMs, () => callers.submit(submission));
    }
    for (const atMs of this.#schedule.readsAtMs) timeline.after(atMs, () => callers.read("merchant"));
    for (const atMs of this.#schedule.looksAtMs) timeline.after(atMs, () => callers.read("customer"));
    restoreLater(this.#schedule.restore, {
      timeline,
      server,
      session: { id: this.#sessionId, sinceMs: this.#epochMs },
      others: this.#actors.others,
      stopAll: async () => {
        for (const { process } of this.#members) await process.kill("as the database is lost");
      },
      onRestored: () => this.#onRestored(),
      note: (what) => this.#note(() => what),
    });
    const { rotatedAtMs } = this.#schedule;
    if (rotatedAtMs !== undefined) timeline.after(rotatedAtMs, () => this.#database.rotateCredentials());
    for (const member of this.#members) member.start();
    while (this.#violation === undefined && timeline.nowMs < this.#calmAtMs + endWithinMs) {
      if (!(await timeline.runNext()) || this.#isOver()) break;
      if (history.steps > stepsMax) this.#violate(`no rest after ${stepsMax} steps`);
    }
    this.#violation ??= findUnfinished(this.#moment()) ?? (await this.#audited());
    for (const member of this.#members) await member.abandon();
    if (this.#schedule.refunds)
      await server.observe("UPDATE refund SET next_try_at = NULL WHERE next_try_at IS NOT NULL");
    if (this.#schedule.disputes)
      await server.observe("UPDATE dispute_response SET next_try_at = NULL WHERE next_try_at IS NOT NULL");
    return {
      seed: this.#seed,
      violation: this.#violation,
      status: describeEnd(this.#observed!, this.#violation),
      isDone:
        this.#observed?.session.phase === "DONE" && !this.#actors.shop.opensAnother && !this.#actors.others.hasSessions,
      steps: history.steps,
      refusals: this.#refusals,
      history: history.lines,
    };
  }

  /** Returns the findings of the product's own audit of the session at its end, or that it has not the successors that it names. */
  async #audited(): Promise<string | undefined> {
    if (this.#actors.shop.opensAnother) {
      const ids = [this.#sessionId, this.#actors.order.rivalId];
      const wrong = await this.#actors.shop.findWrongSuccessors(this.#observed!.session, ids);
      if (wrong !== undefined) return wrong;
    }
    const text = "SELECT rule FROM app.audit(ARRAY[$1::uuid])";
    const { rows } = await this.#database.server.observe({ name: "audit", text, values: [this.#sessionId] });
    return rows.length === 0 ? undefined : `the audit finds ${rows.map(({ rule }) => rule).join(", ")}`;
  }

  #isOver(): boolean {
    const { timeline, faults } = this.#stage;
    const { session, orphanDueAt, notificationDueAt } = this.#observed!;
    if (
      session.phase !== "DONE" ||
      orphanDueAt !== null ||
      notificationDueAt !== null ||
      timeline.nowMs < Math.max(faults.endMs, this.#schedule.restore?.atMs ?? 0)
    ) {
      return false;
    }
    if (
      this.#notifications.isCarrying ||
      this.#requests.isRepeating ||
      this.#isRefunding() ||
      this.#isDisputing() ||
      Object.values(this.#actors).some(({ isActing }) => isActing) ||
      timeline.nowMs < this.#changedAtMs + stragglersMs
    ) {
      return false;
    }
    return holdsToVoid(this.#actors.others.withoutOthers()).length === 0;
  }

  #isRefunding(): boolean {
    if (this.#gateways.some(({ refunds }) => refunds.isChanging)) return true;
    return openRefunds(this.#observed!, referenceOf).length > 0;
  }

  #isDisputing(): boolean {
    if (this.#schedule.disputes === undefined) return false;
    return (
      this.#gateways.some(({ disputes }) => disputes.isChanging) ||
      (findUnfinishedDispute(this.#moment()) ?? findUnsettled(this.#moment())) !== undefined
    );
  }

  #createCallers(): Callers {
    return new Callers({
      stage: this.#stage,
      members: this.#members,
      merchantId: this.#database.merchantId,
      price,
      canShow: this.#schedule.authentication !== undefined,
      manualCapture: this.#schedule.later !== undefined,
      readsOrder: this.#schedule.rival?.readsOrder === true,
      moment: () => this.#moment(),
      violate: (violation) => this.#violate(violation),
    });
  }

  async #onRestored(): Promise<void> {
    const { server } = this.#database;
    this.#isRestored = true;
    this.#see(observedOf(await this.#read()));
    this.#lostRefusals = lostRefusals(this.#moment(), this.#gateways);
    await server.setClock(this.#epochMs + this.#stage.timeline.nowMs);
    await declareRestore(this.#direct(), { backupTakenAt: undefined });
    await this.#actors.order.restore(this.#sessionId);
    await this.#look(await this.#read());
    await this.#actors.order.start(this.#sessionId);
  }

  #read(): Promise<QueryResult> {
    return this.#database.server.observe(this.#observing(0));
  }

  #observing(eventsSeen: number) {
    const { rival, disputes } = this.#schedule;
    return observedQuery(this.#sessionId, {
      eventsSeen,
      hasRival: rival !== undefined,
      feeds: disputes ? ["disputes", ...(disputes.hasStatements ? ["settlement"] : [])] : [],
    });
  }

  /** Returns a database that bypasses all processes. */
  #direct(): Database {
    return new Database(this.#database.server.asPool());
  }

  #directCore(): Core {
    return { ...this.#members[0]!.core, database: this.#direct() };
  }

  #createMember(number: number): Member {
    const [server, stage, epochMs, runtime] = [this.#database.server, this.#stage, this.#epochMs, this.#runtime];
    return new Member(`process ${number}`, {
      stage,
      createPool: (process) => new SimulatedPool({ process, server, stage, epochMs }),
      createCore: (process, pool) => {
        const connectors = this.#connectorsOf(process);
        return createSimulatedCore({
          process,
          pool,
          stage,
          runtime,
          connectors,
          partitions: this.#database.partitions,
          providers: new Map([["SANDBOX_3DS", new SimulatedProvider({ process, stage, world: this.#provider })]]),
          onError: (line) => this.#onError(process, line),
        });
      },
      observed: () => this.#observed,
      sinceStart: (moment) => Date.parse(moment) - epochMs,
    });
  }

  #connectorsOf(process: SimulatedProcess): Map<string, SimulatedConnector> {
    const { authentication, later, network, disputes } = this.#schedule;
    const asks = authentication !== undefined;
    const parts = {
      process,
      stage: this.#stage,
      world: this,
      network,
      asks,
      holdLifeMs: later?.holdLifeMs,
      disputesSinceMs: disputes && this.#epochMs,
      hasStatements: disputes?.hasStatements === true,
    };
    return new Map(accounts.map(({ gateway }) => [gateway, new SimulatedConnector(gateway, shapes[gateway], parts)]));
  }

  #createGateway(gateway: SimulatedGatewayName, index: number): SimulatedGateway {
    const connectionId = this.#database.connectionIds[index]!;
    return new SimulatedGateway(shapes[gateway], this.#schedule.behaviours[index]!, {
      nowMs: () => this.#stage.timeline.nowMs,
      asks: this.#schedule.authentication?.asks[index] ?? "never",
      asksAgain: this.#schedule.retry?.asks[index] ?? 0,
      network: this.#schedule.network,
      report: (...notification) => this.#notifications.report(connectionId, ...notification),
      refunds: this.#schedule.refunds?.behaviours[index] ?? noRefunds,
      after: (ms, run) => this.#stage.timeline.after(ms, run),
      disputes: this.#schedule.disputes,
      reportLater: (notification) => this.#notifications.send(connectionId, notification),
      onChanged: () => this.onExecuted(),
    });
  }

  async #createSession(): Promise<void> {
    const { session } = await createSession(this.#directCore(), this.#owner, this.#newSession);
    this.#sessionId = session.id;
    // A restore is of the run's own session alone, so the other one begins after it.
    if (this.#schedule.restore === undefined) await this.#actors.order.start(session.id);
    await this.#actors.others.start();
    this.#actors.braking.start();
    await this.#look(await this.#read());
  }

  async #look(read: QueryResult): Promise<void> {
    const before = this.#observed;
    const now = observedOf(read);
    this.#see(now);
    await this.#actors.order.check(now);
    await this.#actors.braking.check(now, before);
    this.#changedAtMs = this.#stage.timeline.nowMs;
    if (!before || describeObserved(now) !== describeObserved(before)) this.#note(() => describeObserved(now));
    this.#violate(findViolation(this.#moment(), before));
    for (const member of this.#members) member.onChange();
    this.#actors.customer.onChange(now);
    this.#actors.merchant.onChange(now);
    this.#actors.later.onChange(now);
    this.#actors.disputing.onChange(now);
  }

  #see(now: Observed): void {
    this.#observed = now;
    this.#database.server.watching = this.#observing(now.events.length);
  }

  #moment(): Moment {
    return {
      observed: this.#observed!,
      authorizations: this.#actors.others.withoutOthers(),
      refundsMade: this.#gateways.flatMap(({ refunds }) => refunds.made),
      refundReferenceOf: referenceOf,
      disputesMade: this.#gateways.flatMap(({ disputes }) => disputes.made),
      linesMade: this.#linesMade(),
      askedMinor: this.#actors.later.askedMinor,
      capturesOnTheirWay: this.#requests.capturesOnTheirWay,
      referenceOf: (attemptId) => encodeId("att", attemptId),
      isReportedCaptured: (attempt) =>
        isReportedCaptured(encodeId("att", attempt.id), this.#gateways, this.#notifications),
      voidSentAt: ({ id }) => this.#requests.voidsSentAt.get(encodeId("att", id)),
      isRestored: this.#isRestored,
      network: this.#schedule.network,
      isRefusalLost: this.#lostRefusals.some((reference) => isRefused(reference, this.#gateways)),
      isReportLost: (hold) =>
        isReportLost(hold, this.#gateways, { stored: this.#notifications.stored, restore: this.#schedule.restore }),
      demandsAuthentication: demandsAuthentication(this.#schedule, this.#observed!.session.brakes),
      hidesBrowser: this.#schedule.submissions.some(({ hidesBrowser }) => hidesBrowser),
      hasPassed: (challenge) => this.#hasPassed(challenge),
      isPlanned: (id) => this.#schedule.plan.some((index) => this.#database.connectionIds[index] === id),
    };
  }

  #linesMade(): readonly MadeLine[] {
    if (this.#schedule.disputes?.hasStatements !== true) return [];
    return this.#gateways.flatMap(({ shape, statements }) => (shape.canRead ? statements.made : []));
  }

  #hasPassed({ id, attempt_id, connection_id, provider }: Observed["authentications"][number]): boolean {
    if (provider !== null) return this.#provider.statusOf(id) === "Y";
    return this.gatewayOf(connection_id).ask(encodeId("att", attempt_id!)).state === "passed";
  }

  gatewayOf(connectionId: string): SimulatedGateway {
    return this.#gateways[this.#database.connectionIds.indexOf(connectionId)]!;
  }

  onSent(sent: Sent): void {
    const isOfSession = sent.type === "authorize" ? sent.sessionId : undefined;
    if (this.#actors.others.sees(sent.attemptReference, isOfSession)) return;
    if (sent.type === "authorize" && sent.isForged) this.#violate("a gateway got a proof that no bank has granted");
    this.#unheard.onSent(sent, this.#stage.timeline.nowMs);
    const { rotatedAtMs = Number.POSITIVE_INFINITY } = this.#schedule;
    if (sent.type === "refund" && sent.isFirstVersion && this.#stage.timeline.nowMs > rotatedAtMs + rotationGraceMs) {
      this.#violate("a refund was sent with credentials that had been replaced");
    }
    const observed = this.#observed;
    this.#violate(this.#requests.add(sent, { observed, isRestored: this.#isRestored, now: this.#runtime.now() }));
  }

  isUnheard(sent: Sent): boolean {
    return this.#unheard.isOf(sent, this.#stage.timeline.nowMs);
  }

  authorizeAgain(execute: () => void): void {
    const { authorizeAgainMs } = this.#schedule.longWaits;
    this.#requests.repeatAfter(authorizeAgainMs, this.#stage.timeline, () => {
      this.#changedAtMs = this.#stage.timeline.nowMs;
      execute();
    });
  }

  captureOnItsWay(gatewayReference: string, change: 1 | -1): void {
    this.#requests.captureOnItsWay(gatewayReference, change);
  }

  get grantsExemptions(): boolean {
    return this.#provider.behaviour.grantsExemptions;
  }

  isProof(cryptogram: string): boolean {
    return this.#provider.isProof(cryptogram);
  }

  declineOf(attemptReference: string): Declined | undefined {
    return this.#actors.others.declineOf(attemptReference);
  }

  onExecuted(): void {
    this.#actors.others.check();
    this.#violate(findViolation(this.#moment(), this.#observed));
  }

  #onError(process: SimulatedProcess, line: LoggedError): void {
    process.note(() => `logs an error: ${line.msg}: ${line.err?.message ?? ""}`);
    if (line.err?.code?.startsWith("23")) this.#refusals.push(line.err.message);
  }

  #violate(violation: string | undefined): void {
    if (violation === undefined || this.#violation !== undefined) return;
    this.#violation = violation;
    this.#note(() => `VIOLATION: ${violation}`);
  }

  #note(what: () => string): void {
    this.#stage.history.add(this.#stage.timeline.nowMs, "", what);
  }
}
