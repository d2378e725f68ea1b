/** One seed, played: a session, its customer, two or three processes of the service, its gateways, and everything that goes wrong. */
import { createSession } from "../core/create-session.ts";
import { findSession } from "../core/sessions.ts";
import { submitPayment } from "../core/submit-payment.ts";
import { Database } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";
import { encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { Dice } from "./dice.ts";
import { Faults } from "./faults.ts";
import { History } from "./history.ts";
import { findUnfinished, findViolation, type Moment } from "./invariants.ts";
import { Member } from "./member.ts";
import { NoticeCarrier } from "./notices.ts";
import { describeObserved, type Observed, observedOf, observedQuery } from "./observed.ts";
import {
  accounts,
  drawSchedule,
  type Schedule,
  type SimulatedGatewayName,
  type Submission,
  shapes,
} from "./schedule.ts";
import { type GatewayWorld, type Sent, SimulatedConnector } from "./simulated-connector.ts";
import { createSimulatedCore, type LoggedError, simulatedEntropy } from "./simulated-core.ts";
import { SimulatedGateway } from "./simulated-gateway.ts";
import { SimulatedPool } from "./simulated-pool.ts";
import type { SimulatedProcess, Stage } from "./simulated-process.ts";
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

// Several passes of the hourly comparison, and every repeat with its longest pause several times over.
const endWithinMs = 6 * 3_600_000;
// Whatever still travels when a session is over arrives within this time.
const stragglersMs = 600_000;
// The longest runs take about a tenth of it.
const stepsMax = 30_000;
const submitTriesMax = 5;
const price = { amountMinor: 4_900, currency: "EUR" };

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
  readonly #entropy: Entropy;
  readonly #members: readonly Member[];
  readonly #gateways: readonly SimulatedGateway[];
  readonly #notices: NoticeCarrier;
  readonly #capturesOnTheirWay = new Map<string, number>();
  readonly #authorized = new Set<string>();
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
    this.#stage = { dice, timeline, faults: new Faults(dice), history: new History({ keep: keepHistory }) };
    this.#schedule = drawSchedule(dice);
    this.#entropy = simulatedEntropy({ seed, epochMs: this.#epochMs, stage: this.#stage });
    this.#members = Array.from({ length: this.#schedule.processes }, (_, index) => this.#createMember(index + 1));
    this.#notices = new NoticeCarrier(this.#stage, this.#members);
    this.#gateways = accounts.map(({ gateway }, index) => this.#createGateway(gateway, index));
  }

  async play(): Promise<RunResult> {
    const { timeline, faults, history } = this.#stage;
    const { server } = this.#database;
    server.onChange = () => this.#look();
    this.#describeSchedule();
    await server.setClock(this.#epochMs);
    await this.#database.begin(this.#schedule);
    await this.#createSession();
    for (const submission of this.#schedule.submissions) {
      timeline.after(submission.atMs, () => this.#submit(submission));
    }
    for (const atMs of this.#schedule.readsAtMs) timeline.after(atMs, () => this.#read());
    for (const member of this.#members) member.start();
    while (this.#violation === undefined && timeline.nowMs < faults.endMs + endWithinMs) {
      if (!(await timeline.runNext()) || this.#isOver()) break;
      if (history.steps > stepsMax) this.#violate(`no rest after ${stepsMax} steps`);
    }
    this.#violation ??= findUnfinished(this.#moment()) ?? (await this.#audited());
    for (const member of this.#members) await member.abandon();
    return {
      seed: this.#seed,
      violation: this.#violation,
      status: this.#observed?.session.status ?? "",
      steps: history.steps,
      walls: this.#walls,
      history: history.lines,
    };
  }

  /** What the product's own audit says of the session at its end. */
  async #audited(): Promise<string | undefined> {
    const text = "SELECT rule FROM app.audit(ARRAY[$1::uuid])";
    const { rows } = await this.#database.server.observe({ name: "audit", text, values: [this.#sessionId] });
    return rows.length === 0 ? undefined : `the audit finds ${rows.map(({ rule }) => rule).join(", ")}`;
  }

  #isOver(): boolean {
    const { timeline, faults } = this.#stage;
    const { session, strayDueAt } = this.#observed!;
    if (session.phase !== "DONE" || strayDueAt !== null || timeline.nowMs < faults.endMs) return false;
    const isHeld = this.#gateways.some(({ authorizations }) => authorizations.some(({ state }) => state === "held"));
    return !isHeld && timeline.nowMs > this.#changedAtMs + stragglersMs;
  }

  #createMember(number: number): Member {
    const { server } = this.#database;
    const [stage, epochMs, entropy] = [this.#stage, this.#epochMs, this.#entropy];
    return new Member(`process ${number}`, {
      stage,
      createPool: (process) => new SimulatedPool({ process, server, stage, epochMs }),
      createCore: (process, pool) => {
        const connectors = this.#connectorsOf(process);
        return createSimulatedCore({
          process,
          pool,
          stage,
          entropy,
          connectors,
          onError: (line) => this.#onError(process, line),
        });
      },
      observed: () => this.#observed,
      sinceStart: (moment) => Date.parse(moment) - epochMs,
    });
  }

  #connectorsOf(process: SimulatedProcess): Map<string, SimulatedConnector> {
    const parts = { process, stage: this.#stage, world: this };
    return new Map(accounts.map(({ gateway }) => [gateway, new SimulatedConnector(gateway, shapes[gateway], parts)]));
  }

  #createGateway(gateway: SimulatedGatewayName, index: number): SimulatedGateway {
    const connectionId = this.#database.connectionIds[index]!;
    return new SimulatedGateway(shapes[gateway], this.#schedule.behaviours[index]!, (kind, about, declined) =>
      this.#notices.send(connectionId, {
        kind,
        attemptReference: about.attemptReference,
        gatewayReference: about.gatewayReference,
        ...(kind !== "absent" && { amount: { amountMinor: about.amountMinor, currency: about.currency } }),
        declined,
      }),
    );
  }

  async #createSession(): Promise<void> {
    const { server, merchantId } = this.#database;
    const direct = new Database({ query: server.observe.bind(server) } as never);
    const { sessionLifetimeMs } = this.#schedule;
    const owner = { merchantId, sessionLifetimeMs, checkoutOrigins: [], publishableKey: "switchyard_test_pk_1" };
    const order = { ...price, orderRef: `order of seed ${this.#seed}` };
    const { session } = await createSession({ ...this.#members[0]!.core, database: direct }, owner, order);
    this.#sessionId = session.id;
    await this.#look();
  }

  /** A page whose request gets no answer sends it again, to whichever process takes it. */
  #submit(submission: Submission, tries = 1): void {
    const { timeline, dice } = this.#stage;
    const repeatMs = dice.between(1_000, 25_000);
    const { process, core } = dice.pick(this.#members);
    if (this.#observed?.session.phase !== "IDLE" || tries > submitTriesMax) return;
    timeline.after(repeatMs, () => this.#submit(submission, tries + 1));
    if (!process.isRunning) return;
    const gone = new AbortController();
    timeline.after(submission.patienceMs, () => gone.abort());
    process.note(() => `is asked to submit ${submission.token}`);
    const vaultToken = new Secret(submission.token);
    const session = { id: this.#sessionId, merchantId: this.#database.merchantId, phase: "IDLE" as const, ...price };
    submitPayment(core, { session, vaultToken, signal: gone.signal }).then(
      ({ status }) => process.note(() => `answers the page: ${status}`),
      (error: Error) => process.note(() => `answers the page: ${error.message}`),
    );
  }

  #read(): void {
    const { process, core } = this.#stage.dice.pick(this.#members);
    const { merchantId } = this.#database;
    if (!process.isRunning) return;
    findSession(core, { merchantId, sessionId: this.#sessionId }).then(
      (found) => process.note(() => `answers the merchant: ${found?.session.status}`),
      (error: Error) => process.note(() => `answers the merchant: ${error.message}`),
    );
  }

  // What is watched, and told by the gateways.

  async #look(): Promise<void> {
    const before = this.#observed;
    const now = observedOf(await this.#database.server.observe(observedQuery(this.#sessionId)));
    this.#observed = now;
    this.#changedAtMs = this.#stage.timeline.nowMs;
    if (before === undefined || describeObserved(now) !== describeObserved(before))
      this.#note(() => describeObserved(now));
    this.#violate(findViolation(this.#moment(), before));
    for (const member of this.#members) member.onChange();
  }

  #moment(): Moment {
    return {
      observed: this.#observed!,
      authorizations: this.#gateways.flatMap(({ authorizations }) => authorizations),
      capturesOnTheirWay: this.#capturesOnTheirWay,
      referenceOf: (attemptId) => encodeId("att", attemptId),
    };
  }

  gatewayOf(connectionId: string): SimulatedGateway {
    return this.#gateways[this.#database.connectionIds.indexOf(connectionId)]!;
  }

  onSent({ type, attemptReference }: Sent): void {
    if (type === "authorize" && this.#authorized.has(attemptReference))
      this.#violate("one attempt asked for money twice");
    if (type === "authorize") this.#authorized.add(attemptReference);
    const attempt = this.#observed?.attempts.find(({ id }) => encodeId("att", id) === attemptReference);
    if (attempt === undefined) this.#violate(`${type} was sent for an attempt that is not committed`);
    if (type === "capture" && attempt?.capture_started_at === null)
      this.#violate("a capture was sent before it was ordered");
  }

  captureOnItsWay(attemptReference: string, change: 1 | -1): void {
    this.#capturesOnTheirWay.set(attemptReference, (this.#capturesOnTheirWay.get(attemptReference) ?? 0) + change);
  }

  onExecuted(): void {
    this.#violate(findViolation(this.#moment(), this.#observed));
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
}
