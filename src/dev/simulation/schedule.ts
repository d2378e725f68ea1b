/** The plan that a seed determines: the merchant's rule, each gateway's behaviour, and the customer's actions. */
import type { FailoverSwitch, WithoutBrowser } from "../../core/rows/entities.ts";
import type { Gateway } from "../../gateways/connector.ts";
import type { Declined } from "../../gateways/declines.ts";
import { type BrakingPlan, countedTokenOf, drawBraking } from "./braking.ts";
import { type CustomerPlan, drawCustomer } from "./customer-plan.ts";
import { Dice } from "./dice.ts";
import { type DisputeSchedule, drawDisputes } from "./dispute-plan.ts";
import type { Faults } from "./faults.ts";
import { drawLater, type LaterSchedule } from "./later-plan.ts";
import { drawRefunds, type RefundSchedule } from "./refund-plan.ts";
import { drawRival, type RivalPlan } from "./rival.ts";
import { drawSchedulers, type SchedulersPlan } from "./schedulers.ts";
import { drawShop, type ShopPlan } from "./shop.ts";
import type { GatewayAsks, GatewayBehaviour, GatewayShape } from "./simulated-gateway.ts";
import type { ProviderBehaviour } from "./simulated-provider.ts";
import { drawTesters } from "./testers.ts";
import { drawWallet, Network, type WalletPlan, walletTokenOf } from "./wallets.ts";

/** The accounts in every run's database. Both shapes of gateway are among them, and two accounts of one gateway. */
export const accounts = [
  { gateway: "STRIPE", account: "first" },
  { gateway: "PAYPAL", account: "first" },
  { gateway: "ADYEN", account: "first" },
  { gateway: "ADYEN", account: "second" },
] as const satisfies readonly { gateway: Gateway; account: string }[];

/** The gateways that a simulated merchant may have. */
export type SimulatedGatewayName = (typeof accounts)[number]["gateway"];

const executionLimitMs = 30_000;
const hourMs = 3_600_000;

export const shapes: Readonly<Record<SimulatedGatewayName, GatewayShape>> = {
  STRIPE: {
    canRead: true,
    refusesVoidedReference: true,
    executionLimitMs,
    keyLifeMs: 24 * hourMs,
    importsProof: true,
    holdsOnlyWhenAsked: true,
    actionLifeMs: 0,
  },
  PAYPAL: {
    canRead: true,
    refusesVoidedReference: false,
    executionLimitMs,
    keyLifeMs: 6 * hourMs,
    importsProof: false,
    holdsOnlyWhenAsked: true,
    actionLifeMs: 0,
  },
  ADYEN: {
    canRead: false,
    refusesVoidedReference: false,
    executionLimitMs,
    keyLifeMs: 7 * 24 * hourMs,
    importsProof: true,
    holdsOnlyWhenAsked: false,
    actionLifeMs: hourMs / 4,
  },
};

/** A press of the pay button. */
export type Submission = {
  readonly atMs: number;
  readonly token: string;
  /** The time that the customer's page stays open. */
  readonly patienceMs: number;
  /** True if the page leaves out the data of its browser. */
  readonly hidesBrowser?: boolean;
};

/** Everything that a seed determines beforehand; the faults are drawn by dice during the run. */
export type Schedule = {
  readonly processes: number;
  readonly sessionLifetimeMs: number;
  /** Indexes of `accounts`, by priority. */
  readonly plan: readonly number[];
  readonly failoverOn: readonly FailoverSwitch[];
  /** The behaviours, indexed like `accounts`. */
  readonly behaviours: readonly GatewayBehaviour[];
  readonly submissions: readonly Submission[];
  /** Times at which the merchant reads the session; a read ends a session that has expired. */
  readonly readsAtMs: readonly number[];
  /** Times at which the customer's page requests the outcome. */
  readonly looksAtMs: readonly number[];
  readonly longWaits: LongWaits;
  /** Times of the database's backup and of its restore to that moment; in a few runs. */
  readonly restore: { readonly backupAtMs: number; readonly atMs: number } | undefined;
  /** Set in runs whose page can show actions, and whose gateways may ask for the customer. */
  readonly authentication: AuthenticationSchedule | undefined;
  /** Set in runs whose merchant refunds, once the payment has succeeded. */
  readonly refunds: RefundSchedule | undefined;
  /** Set in runs whose customer disputes the payment. */
  readonly disputes: DisputeSchedule | undefined;
  /** Set in runs whose merchant captures later. */
  readonly later: LaterSchedule | undefined;
  /** Set in runs whose rule has cases: the default plan, while `plan` is that of the case that applies. */
  readonly defaultPlan: readonly number[] | undefined;
  /** Set in some runs with a restore: reports that a void found nothing arrive only after it. */
  readonly hasStaleAbsents: boolean;
  /** Set in some runs with refunds: when each account's credentials are rotated. */
  readonly rotatedAtMs: number | undefined;
  /** Set in runs whose rule retries at the same gateway: the times that each account asks for that before it decides. */
  readonly retry: { readonly asks: readonly number[] } | undefined;
  /** Set in runs with another session of the same order, whose merchant takes one payment for an order. */
  readonly rival: RivalPlan | undefined;
  /** Set in runs whose merchant cancels or replaces the session about when it is submitted. */
  readonly shop: ShopPlan | undefined;
  /** Set in runs whose merchant may brake against card testing. */
  readonly braking: BrakingPlan | undefined;
  /** The plan of card testers beside the run's session; only in plain runs. */
  readonly testers: ReturnType<typeof drawTesters>;
  /** Set in runs whose customer pays by a wallet, with a device's number. */
  readonly wallet: WalletPlan | undefined;
  readonly network: Network;
  /** Set in some plain runs, also with a restore: schedulers charge an agreement beside the run's session. */
  readonly schedulers: SchedulersPlan | undefined;
};

export const price = { amountMinor: 4_900, currency: "EUR" };

type AuthenticationSchedule = {
  /** The challenges, indexed like `accounts`. */
  readonly asks: readonly GatewayAsks[];
  readonly customers: readonly CustomerPlan[];
  readonly provider: ProviderBehaviour | undefined;
  /** Set in runs whose rule demands authentication whatever its provider's draw says, and whose page may not help. */
  readonly demand: Demand | undefined;
  /** Times after each challenge at which its return address is opened with a made-up result. */
  readonly forgesAtMs: readonly number[];
};

/** The rule's choice for a page that leaves its browser out, and the submissions, by index, that do so. */
type Demand = { readonly withoutBrowser: WithoutBrowser; readonly hidesAt: readonly number[] };

/** Reports whether no payment of a run may be captured without an authentication. */
export function demandsAuthentication(
  { authentication, wallet }: Pick<Schedule, "authentication" | "wallet">,
  brakes: readonly string[] | null,
): boolean {
  const { demand, provider } = authentication ?? {};
  // A device has authenticated its customer.
  if (wallet) return false;
  if (authentication && demand?.withoutBrowser !== "PAY" && brakes?.includes("NEW_CARD")) return true;
  return demand ? demand.withoutBrowser === "DECLINE" : provider?.rule === "ALWAYS";
}

/**
 * Delays of hours, in a few runs: every repeat in the meantime is played, so such a run costs as much as a hundred
 * others.
 */
type LongWaits = {
  /** The longest delay of a notification. */
  readonly notificationMs: number;
  /** Time after the first capture during which its gateways' answers to captures are lost. */
  readonly unheardCapturesMs: number;
  /** Delay after which a gateway receives each authorize again; never if it is 0. */
  readonly authorizeAgainMs: number;
};

/** Draws the plan; the same seed and dice draw the same plan. */
export function drawSchedule(dice: Dice, seed: number): Schedule {
  const demand = drawDemand(new Dice((seed + demandSeeds) % 2 ** 31));
  const forgesAtMs = drawForgeries(new Dice((seed + forgerySeeds) % 2 ** 31));
  const authentication = drawAuthentication(new Dice((seed + authenticationSeeds) % 2 ** 31), { demand, forgesAtMs });
  const refunds = drawRefunds(new Dice((seed + refundSeeds) % 2 ** 31), accounts.length, price.amountMinor);
  const later = drawLater(new Dice((seed + laterSeeds) % 2 ** 31), price.amountMinor);
  const longWaits = drawLongWaits(dice);
  const rotation = new Dice((seed + rotationSeeds) % 2 ** 31);
  const expiresSoon = dice.chance(0.1);
  const sessionLifetimeMs = expiresSoon ? 3_000 : 1_800_000;
  const schedule = {
    processes: dice.between(2, 3),
    sessionLifetimeMs,
    plan: drawPlan(dice),
    failoverOn: dice.chance(0.8) ? switches : switches.filter(() => dice.chance(0.6)),
    behaviours: accounts.map(() => drawBehaviour(dice)),
    submissions: drawSubmissions(dice, expiresSoon ? sessionLifetimeMs : undefined).map((submission, index) =>
      authentication?.demand?.hidesAt.includes(index) ? { ...submission, hidesBrowser: true } : submission,
    ),
    readsAtMs: expiresSoon ? [0, 0, 0].map(() => sessionLifetimeMs + dice.between(0, 20)) : [dice.between(0, 60_000)],
    looksAtMs: [dice.between(1_000, 10_000), dice.between(10_000, 120_000)],
    longWaits,
    // A gateway's late execution, by hours, for an attempt whose row is lost is on no record.
    restore:
      longWaits.authorizeAgainMs > 0
        ? undefined
        : (drawRestore(dice, authentication ? 0.12 : 0.04) ?? refunds?.restore),
    authentication,
    refunds,
    later,
    defaultPlan: drawDefaultPlan(new Dice((seed + caseSeeds) % 2 ** 31)),
    retry: drawRetry(new Dice((seed + retrySeeds) % 2 ** 31)),
    rival: drawRival(new Dice((seed + rivalSeeds) % 2 ** 31), price.amountMinor),
    hasStaleAbsents: new Dice((seed + staleSeeds) % 2 ** 31).chance(0.3),
    rotatedAtMs: refunds && rotation.chance(0.5) ? rotation.between(0, 60_000) : undefined,
  };
  const changing = new Dice((seed + shopSeeds) % 2 ** 31);
  // A restore loses what a gateway's notices have said.
  const disputing = new Dice((seed + disputeSeeds) % 2 ** 31);
  const disputes = schedule.restore ? undefined : drawDisputes(disputing, refunds !== undefined);
  const shop = later || schedule.restore ? undefined : drawShop(changing, schedule.submissions[0]!.atMs);
  const isOwn = !(refunds ?? disputes ?? later ?? schedule.rival ?? shop);
  const isAlone = isOwn && !schedule.restore;
  const isPlain = isOwn && !authentication && !longWaits.authorizeAgainMs;
  const testers = isPlain && isAlone ? drawTesters(new Dice((seed + testerSeeds) % 2 ** 31)) : [];
  const hasSchedulers = isPlain && testers.length === 0;
  const schedulerDice = new Dice((seed + schedulerSeeds) % 2 ** 31);
  const schedulers = hasSchedulers ? drawSchedulers(schedulerDice, schedule.restore) : undefined;
  const canBrake = isAlone && !expiresSoon && testers.length === 0 && schedulers === undefined;
  const braking = canBrake ? drawBraking(new Dice((seed + brakingSeeds) % 2 ** 31)) : undefined;
  const isByCard = testers.length > 0 || schedulers !== undefined || braking !== undefined;
  const gateways = accounts.map(({ gateway }) => gateway);
  const wallet = isByCard ? undefined : drawWallet(new Dice((seed + walletSeeds) % 2 ** 31), gateways);
  const submissions = schedule.submissions.map((one) => {
    if (wallet) return { ...one, token: walletTokenOf(one.token) };
    return braking ? counted(one, seed, braking) : one;
  });
  const isPaid = disputes !== undefined && disputing.chance(paidDisputes);
  return {
    ...schedule,
    ...(isPaid && { behaviours: schedule.behaviours.map(paying) }),
    submissions,
    disputes,
    shop,
    testers,
    schedulers,
    braking,
    wallet,
    network: new Network(wallet),
  };
}

// A payment that fails, as most of those of a run do, has no dispute.
const paidDisputes = 0.8;

/** Returns the behaviour of an account that takes payments. */
function paying(behaviour: GatewayBehaviour): GatewayBehaviour {
  return { ...behaviour, onAuthorize: "approve", onCapture: "capture", holdsDeclined: false };
}

/** Returns the submission with a card that counts. */
function counted(submission: Submission, seed: number, { hidesBrowser }: BrakingPlan): Submission {
  return { ...submission, token: countedTokenOf(seed), hidesBrowser: submission.hidesBrowser || hidesBrowser };
}

function drawRetry(dice: Dice): Schedule["retry"] {
  return dice.chance(0.25) ? { asks: accounts.map(() => dice.pick([0, 1, 1, 2])) } : undefined;
}

function drawDefaultPlan(dice: Dice): number[] | undefined {
  return dice.chance(0.2) ? drawPlan(dice) : undefined;
}

// Separate dice draw these, so a run without them does not change.
const caseSeeds = 2_000_000_033;
const authenticationSeeds = 1_000_000_007;
const refundSeeds = 1_500_000_001;
const laterSeeds = 1_800_000_011;
const retrySeeds = 1_900_000_043;
const demandSeeds = 1_100_000_009;
const staleSeeds = 2_050_000_037;
const rotationSeeds = 2_100_000_011;
const rivalSeeds = 1_200_000_041;
const forgerySeeds = 1_300_000_027;
const shopSeeds = 1_400_000_023;
const testerSeeds = 1_600_000_009;
const brakingSeeds = 1_700_000_009;
const schedulerSeeds = 1_050_000_011;
const walletSeeds = 1_150_000_013;
const disputeSeeds = 1_250_000_017;

function drawDemand(dice: Dice): Demand | undefined {
  if (!dice.chance(0.2)) return undefined;
  return { withoutBrowser: dice.pick(["DECLINE", "DECLINE", "PAY"]), hidesAt: dice.pick([[], [0], [1], [0, 1, 2]]) };
}

/** Draws the times at which a third party opens a return address: near the challenge, or minutes later. */
function drawForgeries(dice: Dice): readonly number[] {
  return dice.chance(0.2) ? [dice.between(0, 2_000), dice.between(0, 60_000)] : [];
}

function drawAuthentication(
  dice: Dice,
  given: Pick<AuthenticationSchedule, "demand" | "forgesAtMs">,
): AuthenticationSchedule | undefined {
  if (!dice.chance(0.35)) return undefined;
  return {
    asks: accounts.map(() =>
      dice.weighted<GatewayAsks>([
        [4, "as_needed"],
        [3, "if_asked"],
        [3, "never"],
      ]),
    ),
    customers: [drawCustomer(dice), drawCustomer(dice)],
    provider: drawProvider(dice),
    ...given,
  };
}

function drawProvider(dice: Dice): ProviderBehaviour | undefined {
  if (!dice.chance(0.4)) return undefined;
  return {
    rule: dice.pick(["AS_NEEDED", "ALWAYS", "ALWAYS"]),
    answer: dice.weighted<ProviderBehaviour["answer"]>([
      [8, "challenge"],
      [3, "Y"],
      [1, "A"],
      [1, "N"],
      [1, "R"],
      [1, "U"],
      [1, "I"],
      [1, "unknownCard"],
    ]),
    checksDevice: dice.chance(0.5),
    policy: {
      exemptions: dice.chance(0.3) ? ["LOW_VALUE"] : [],
      stopsIfUnavailable: dice.chance(0.3),
      forbidsSecondChallenge: dice.chance(0.3),
    },
    grantsExemptions: dice.chance(0.5),
  };
}

/** Draws a backup while the session is young, and a restore that loses seconds to minutes of it. */
function drawRestore(dice: Dice, chance: number): Schedule["restore"] {
  if (!dice.chance(chance)) return undefined;
  const backupAtMs = dice.between(0, dice.pick([4_000, 60_000]));
  return { backupAtMs, atMs: backupAtMs + dice.between(500, dice.pick([10_000, 600_000])) };
}

// Longer than the shortest life of a key, and within the day in which reconciliation looks at an attempt.
const pastKeyLifeMs = [6.5 * hourMs, 8 * hourMs] as const;

function drawLongWaits(dice: Dice): LongWaits {
  return {
    notificationMs: dice.chance(0.03) ? dice.between(hourMs, 4 * hourMs) : 180_000,
    unheardCapturesMs: dice.chance(0.01) ? dice.between(...pastKeyLifeMs) : 0,
    authorizeAgainMs: dice.chance(0.03) ? dice.between(...pastKeyLifeMs) : 0,
  };
}

const switches: readonly FailoverSwitch[] = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"];

/** Draws two to four accounts in any order, one of each shape among them. */
function drawPlan(dice: Dice): number[] {
  for (;;) {
    const plan = dice.shuffled(accounts.map((_, index) => index)).slice(0, dice.between(2, accounts.length));
    const readable = plan.filter((index) => shapes[accounts[index]!.gateway].canRead);
    if (readable.length > 0 && readable.length < plan.length) return plan;
  }
}

const declined = (kind: Declined["kind"], stop: Declined["stop"], declineCode: Declined["declineCode"]): Declined => ({
  type: "declined",
  kind,
  stop,
  declineCode,
  gatewayCode: declineCode,
});

function drawBehaviour(dice: Dice): GatewayBehaviour {
  return {
    onAuthorize: dice.weighted<GatewayBehaviour["onAuthorize"]>([
      [50, "approve"],
      [12, declined("HARD_DECLINE", "none", "card_declined")],
      [6, declined("SOFT_DECLINE", "none", "insufficient_funds")],
      [8, declined("FRAUD", "fraud", "fraud_suspected")],
      [4, declined("SOFT_DECLINE", "unclassified", "unclassified")],
      [6, "approveWrongAmount"],
      [4, "busy"],
      [5, "down"],
      [5, "silent"],
    ]),
    onCapture: dice.weighted<GatewayBehaviour["onCapture"]>([
      [66, "capture"],
      [14, "refuse"],
      [8, "refuseLanded"],
      [8, "fail"],
      [4, "reverse"],
    ]),
    holdsDeclined: dice.chance(0.15),
    refusedVoids: dice.chance(0.15) ? dice.between(1, 3) : 0,
    busyFor: dice.chance(0.2) ? dice.between(1, 4) : 0,
    capturesAgain: dice.chance(0.5),
  };
}

/**
 * Draws the submissions: within seconds after the page opens, or at the last moment; some pay twice at once, some with
 * two cards.
 */
function drawSubmissions(dice: Dice, expiresAfterMs: number | undefined): Submission[] {
  const atMs =
    expiresAfterMs === undefined ? dice.between(0, 3_000) : dice.between(expiresAfterMs - 40, expiresAfterMs + 3);
  const submission = (delayMs: number, token: string): Submission => ({
    atMs: atMs + delayMs,
    token,
    patienceMs: dice.pick([0, 0, 1_000, 1_000, 30_000]),
  });
  const submissions = [submission(0, "token 1")];
  if (dice.chance(0.3)) submissions.push(submission(dice.between(0, 1_500), "token 1"));
  if (dice.chance(0.1)) submissions.push(submission(dice.between(0, 1_500), "token 2"));
  return submissions;
}

/** Describes the plan, for the history. */
export function describeSchedule(
  schedule: Schedule,
  seed: number,
  faults: Pick<Faults, "endMs" | "rates">,
): readonly string[] {
  const { plan, behaviours, failoverOn, longWaits, authentication, refunds, later, defaultPlan, retry } = schedule;
  const { restore, hasStaleAbsents, rotatedAtMs, braking, wallet, disputes } = schedule;
  return [
    `seed ${seed}; faults until ${faults.endMs / 1000} s: ${JSON.stringify(faults.rates)}`,
    ...plan.map((index) => `plan: ${accounts[index]?.gateway} ${JSON.stringify(behaviours[index])}`),
    `fails over on ${failoverOn.join(", ") || "nothing"}; ${JSON.stringify(longWaits)}`,
    ...(later ? [`captures later: ${JSON.stringify(later)}`] : []),
    ...(refunds ? [`refunds: ${JSON.stringify(refunds)}`] : []),
    ...(disputes ? [`disputes: ${JSON.stringify(disputes)}`] : []),
    ...(defaultPlan ? ["the plan is that of a case"] : []),
    ...(restore && hasStaleAbsents ? ["reports of voids that found nothing arrive after the restore"] : []),
    ...(rotatedAtMs === undefined ? [] : [`the credentials are rotated after ${rotatedAtMs} ms`]),
    ...(braking ? [`brakes: ${JSON.stringify(braking)}`] : []),
    ...(wallet ? [`pays by a wallet: ${JSON.stringify(wallet)}`] : []),
    ...(retry ? [`retries at the same gateway: ${JSON.stringify(retry)}`] : []),
    ...(authentication ? [`asks for the customer: ${JSON.stringify(authentication)}`] : []),
  ];
}
