/**
 * Rows 4 to 6: payments beside the straight payment, a peer written by hand. Measures their times, their load on the
 * database, payments per second, CPU and memory.
 */
import { setTimeout as pause } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import type { Child } from "../testing/child-process.ts";
import { type BenchHarness, describePostgres } from "./harness.ts";
import type { Paid, PaymentOrder, Submitted } from "./payment-load.ts";
import { type Memory, PaymentSite, type SiteDoors } from "./payment-site.ts";
import { peerPrefix, StraightPeer } from "./peers/straight/straight-peer.ts";
import { prepareQuiet, type QuietSample, takeQuietSample } from "./quiet-time.ts";
import type { Passed } from "./statement-gate.ts";
import type { Arrivals } from "./webhook-receiver.ts";

export type PaymentBenchOptions = {
  readonly rounds: number;
  /** Payments one at a time of each kind in a round. */
  readonly samples: number;
  /** The time that customers pay concurrently in a round, in seconds. */
  readonly seconds: number;
  /** The number of payments before the first round. */
  readonly warmUp: number;
  readonly customers: number;
  /** Number of payments after a quiet time, and its length in seconds. */
  readonly quietSamples: number;
  readonly quietSeconds: number;
};

/** Cards of the sandbox gateways, by the outcome that they cause. */
export const kinds = { approved: "4242424242424242", failover: "4000000000000002" } as const;
export type PaymentKind = keyof typeof kinds;

/** A contestant: Switchyard, or the straight payment. */
export type Side = "ours" | "peer";
type BySide<Value> = Readonly<Record<Side, Value>>;

/** Milliseconds of each sample of a round. */
export type PaymentRound = BySide<Readonly<Record<PaymentKind, readonly number[]>>>;

/** Payments of many customers in a round, and the CPU time of one by process, in milliseconds. */
export type PaidTurn = Paid & { readonly cpuMs: Readonly<Record<string, number>> };

/** Commits and round trips by process. */
type Counts = Readonly<Record<string, Passed>>;

/** Of one payment: its creation with its card, its submission, and the notifications that follow a failover. */
type Counted = Readonly<Record<PaymentKind | "created" | "notifications", Counts>>;

export type PaymentBenchResult = {
  readonly rounds: readonly PaymentRound[];
  readonly counted: BySide<Counted>;
  readonly paid: readonly BySide<PaidTurn>[];
  readonly quiet: readonly BySide<QuietSample>[];
  readonly memory: Readonly<Record<string, Memory>>;
  readonly postgres: BenchHarness["postgres"];
};

type ManyAtOnce = Pick<PaymentBenchOptions, "seconds" | "customers"> &
  Pick<PaymentOrder, "doors" | "ofStrangers"> & { readonly card?: string };

type Run = {
  readonly site: PaymentSite;
  readonly load: Child;
  readonly doors: BySide<SiteDoors>;
  readonly options: PaymentBenchOptions;
};

/** Plays everything, and reports its steps. Throws if a payment did not end as its card determines. */
export async function runPaymentBench(
  options: PaymentBenchOptions,
  onStep: (step: string) => void,
): Promise<PaymentBenchResult> {
  onStep("starting servers and roles");
  const site = await PaymentSite.open({ counted: true });
  const stack = new AsyncDisposableStack();
  stack.defer(() => site.close());
  try {
    const peer = await StraightPeer.open(site);
    stack.defer(() => peer.close());
    const load = site.startChild("payment-load.ts");
    const run: Run = { site, load, options, doors: { ours: site.doors, peer: peer.doors } };
    onStep("counting the database work of a payment");
    await site.receiver.ask("begin");
    await peer.start({ counted: true });
    const counted = { ours: await countAll(run, "ours"), peer: await countAll(run, "peer") };
    onStep("warming up");
    await Promise.all([site.start("vault"), site.start("edge"), site.start("worker"), peer.start()]);
    await waitForWebhooks(site, 2 * countedBatches * options.samples);
    for (const [side, { signingSecret }] of [
      ["ours", site],
      ["peer", peer],
    ] as const) {
      await payTurn(run, side, options.warmUp);
      await requireSigned(site.receiver, signingSecret);
    }
    const rounds = await playOneByOne(run, onStep);
    const paid: BySide<PaidTurn>[] = [];
    for (let round = 0; round < options.rounds; round++) {
      onStep(`many at once: ${round} of ${options.rounds} rounds played`);
      paid.push(await bySide(round, (side) => payTurn(run, side, options.seconds)));
    }
    const memory = site.memory();
    const quiet = await playQuiet(run, onStep);
    return { rounds, counted, paid, quiet, memory, postgres: await describePostgres(site.ownerUrl) };
  } catch (error) {
    site.printLogs();
    throw error;
  } finally {
    await stack.disposeAsync();
  }
}

/** Returns both sides in the order of a round: each begins every other one. */
function sidesOf(round: number): readonly Side[] {
  return round % 2 === 0 ? ["ours", "peer"] : ["peer", "ours"];
}

async function bySide<Value>(round: number, play: (side: Side) => Promise<Value>): Promise<BySide<Value>> {
  const played: Partial<Record<Side, Value>> = {};
  for (const side of sidesOf(round)) played[side] = await play(side);
  return played as BySide<Value>;
}

/** Returns the CPU time of one payment between two readings, in milliseconds, by process; the largest first. */
export function cpuOfOne(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
  { payments }: Pick<Paid, "payments">,
): Readonly<Record<string, number>> {
  const used = Object.entries(after).map(([name, ms]) => [name, (ms - (before[name] ?? 0)) / payments] as const);
  return Object.fromEntries(used.toSorted(([, one], [, other]) => other - one));
}

function orderOf({ doors }: Run, side: Side, kind: PaymentKind): PaymentOrder {
  return { doors: doors[side], card: kinds[kind], status: "SUCCEEDED" };
}

// Of payments, at each side, by the function below.
const countedBatches = 4;

/** Counts payments one after the other; the notifications of SANDBOX_B, which may come at any time, apart. */
async function countAll(run: Run, side: Side): Promise<Counted> {
  const { site, load, options } = run;
  const count = async (work: () => Promise<unknown>) => perPayment(await site.count(work), side, options.samples);
  const prepare = (kind: PaymentKind) => load.ask("prepare", { ...orderOf(run, side, kind), count: options.samples });
  const submit = (kind: PaymentKind) => load.ask("submit", orderOf(run, side, kind));
  for (const kind of ["failover", "approved"] as const) await submitMany(run, orderOf(run, side, kind));
  const created = await count(() => prepare("approved"));
  const approved = await count(() => submit("approved"));
  await prepare("failover");
  await askSandbox(site, "hold");
  const failover = await count(() => submit("failover"));
  const notifications = await count(() => askSandbox(site, "release"));
  return { created, approved, failover, notifications };
}

function perPayment(passed: Counts, side: Side, payments: number): Counts {
  const isOfSide = (name: string) => name.startsWith(peerPrefix) === (side === "peer");
  const counts = Object.entries(passed).filter(([name]) => isOfSide(name));
  return Object.fromEntries(
    counts.map(([name, { roundTrips, commits, statements }]) => [
      name,
      { roundTrips: roundTrips / payments, commits: commits / payments, statements: statements / payments },
    ]),
  );
}

async function askSandbox({ sandboxOrigin }: PaymentSite, what: "hold" | "release"): Promise<void> {
  const body = JSON.stringify({ operation: "b.notification" });
  const answer = await fetch(`${sandboxOrigin}/admin/${what}`, { method: "POST", body });
  if (!answer.ok) throw new Error(`the sandbox refused to ${what} notifications (${answer.status})`);
}

async function submitMany({ load, options }: Run, order: PaymentOrder, count = options.samples): Promise<number[]> {
  await load.ask("prepare", { ...order, count });
  const { latenciesMs, failures } = await load.ask<Submitted>("submit", order);
  if (failures > 0) throw new Error(`${failures} of ${count} payments did not end as ${order.status}`);
  return [...latenciesMs];
}

// A worker sends a thousand in a second.
const webhooksWithinMs = 60_000;

function payTurn({ site, load, doors, options }: Run, side: Side, seconds: number): Promise<PaidTurn> {
  return payAndDeliver(site, load, { ...options, seconds, doors: doors[side] });
}

/** Makes whole payments of many customers, and waits for their webhooks: the CPU time includes these. */
export async function payAndDeliver(
  site: PaymentSite,
  load: Pick<Child, "ask">,
  options: ManyAtOnce,
): Promise<PaidTurn> {
  await site.receiver.ask("begin");
  const before = site.cpuMs();
  const paid = await payManyAtOnce(load, options);
  await waitForWebhooks(site, paid.payments);
  return { ...paid, cpuMs: cpuOfOne(before, site.cpuMs(), paid) };
}

/** Throws unless the webhook is signed by the secret, and reports a payment that succeeded. */
async function requireSigned(receiver: Child, secret: string): Promise<void> {
  const { sample } = await receiver.ask<Arrivals>("arrivals");
  if (sample === undefined) throw new Error("no webhook has arrived");
  const headers = Object.fromEntries(Object.entries(sample.headers).map(([name, value]) => [name, String(value)]));
  const event = new Webhook(secret.slice(secret.indexOf("whsec_"))).verify(sample.body, headers);
  const { type } = event as { type: string };
  if (type !== "payment_session.succeeded") throw new Error(`the first webhook is of the type ${type}`);
}

async function waitForWebhooks({ receiver }: PaymentSite, count: number): Promise<void> {
  const isLate = pause(webhooksWithinMs, true, { ref: false });
  const haveArrived = receiver.ask("waitForCount", count).then(() => false);
  if (await Promise.race([haveArrived, isLate])) throw new Error(`${count} webhooks did not arrive within a minute`);
}

/** Makes whole payments with this many concurrent customers. Throws if one failed. */
export async function payManyAtOnce(load: Pick<Child, "ask">, options: ManyAtOnce): Promise<Paid> {
  const { seconds, customers, doors, card = kinds.approved, ofStrangers = false } = options;
  const order: PaymentOrder = { doors, card, status: "SUCCEEDED", ofStrangers };
  const paid = await load.ask<Paid>("pay", { ...order, seconds, atOnce: customers });
  if (paid.failures > 0) throw new Error(`${paid.failures} of ${paid.payments} payments failed`);
  return paid;
}

/** Plays by turns, so that other load on the machine affects all of them. */
async function playOneByOne(run: Run, onStep: (step: string) => void): Promise<PaymentRound[]> {
  const { rounds } = run.options;
  const played: PaymentRound[] = [];
  for (let round = 0; round < rounds; round++) {
    onStep(`one at a time: ${round} of ${rounds} rounds played`);
    const submit = (kind: PaymentKind) => bySide(round, (side) => submitMany(run, orderOf(run, side, kind)));
    const [approved, failover] = [await submit("approved"), await submit("failover")];
    const of = (side: Side) => ({ approved: approved[side], failover: failover[side] });
    played.push({ ours: of("ours"), peer: of("peer") });
  }
  return played;
}

/** Submits after a quiet time without payments, and then at once again and again; first one side, then the other. */
async function playQuiet(run: Run, onStep: (step: string) => void): Promise<BySide<QuietSample>[]> {
  const { load, options } = run;
  const played: BySide<QuietSample>[] = [];
  for (let sample = 0; sample < options.quietSamples; sample++) {
    onStep(`after ${options.quietSeconds} quiet seconds: ${sample} of ${options.quietSamples} samples taken`);
    for (const side of sidesOf(sample)) {
      await prepareQuiet(load, orderOf(run, side, "approved"));
    }
    await pause(options.quietSeconds * 1_000);
    played.push(await bySide(sample, (side) => takeQuietSample(load, orderOf(run, side, "approved"))));
  }
  return played;
}
