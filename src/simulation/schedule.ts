/** What one seed plays: the merchant's rule, how each gateway takes the card, and what the customer does. */
import type { FailoverSwitch } from "../core/entities.ts";
import type { Gateway } from "../gateways/connector.ts";
import type { Declined } from "../gateways/declines.ts";
import type { Dice } from "./dice.ts";
import type { GatewayBehaviour, GatewayShape } from "./simulated-gateway.ts";

/** The accounts that every run's database has. Both shapes of gateway are among them, and of one two accounts. */
export const accounts = [
  { gateway: "STRIPE", account: "first" },
  { gateway: "PAYPAL", account: "first" },
  { gateway: "ADYEN", account: "first" },
  { gateway: "ADYEN", account: "second" },
] as const satisfies readonly { gateway: Gateway; account: string }[];

/** The gateways that a simulated merchant may have. */
export type SimulatedGatewayName = (typeof accounts)[number]["gateway"];

const executionLimitMs = 30_000;

/** What kind of gateway each of them is. */
export const shapes: Readonly<Record<SimulatedGatewayName, GatewayShape>> = {
  STRIPE: { canRead: true, refusesVoidedReference: true, executionLimitMs },
  PAYPAL: { canRead: true, refusesVoidedReference: false, executionLimitMs },
  ADYEN: { canRead: false, refusesVoidedReference: false, executionLimitMs },
};

/** One press of the pay button. */
export type Submission = {
  readonly atMs: number;
  readonly token: string;
  /** How long the customer's page is there. */
  readonly patienceMs: number;
};

/** Everything that a seed decides beforehand; the faults come by dice while it runs. */
export type Schedule = {
  readonly processes: number;
  readonly sessionLifetimeMs: number;
  /** Indexes of `accounts`, by priority. */
  readonly plan: readonly number[];
  readonly failoverOn: readonly FailoverSwitch[];
  /** By index of `accounts`. */
  readonly behaviours: readonly GatewayBehaviour[];
  readonly submissions: readonly Submission[];
  /** When the merchant reads the session; a read ends one whose time is over. */
  readonly readsAtMs: readonly number[];
};

/** Draws what is played; the same dice draw the same. */
export function drawSchedule(dice: Dice): Schedule {
  const expiresSoon = dice.chance(0.1);
  const sessionLifetimeMs = expiresSoon ? 3_000 : 1_800_000;
  return {
    processes: dice.between(2, 3),
    sessionLifetimeMs,
    plan: drawPlan(dice),
    failoverOn: dice.chance(0.8) ? switches : switches.filter(() => dice.chance(0.6)),
    behaviours: accounts.map(() => drawBehaviour(dice)),
    submissions: drawSubmissions(dice, expiresSoon ? sessionLifetimeMs : undefined),
    readsAtMs: expiresSoon ? [0, 0, 0].map(() => sessionLifetimeMs + dice.between(0, 20)) : [dice.between(0, 60_000)],
  };
}

const switches: readonly FailoverSwitch[] = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"];

/** Two to four accounts in any order, one of each shape among them. */
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
      [70, "take"],
      [14, "refuse"],
      [8, "refuseLanded"],
      [8, "fail"],
    ]),
    busyFor: dice.chance(0.2) ? dice.between(1, 4) : 0,
    capturesAgain: dice.chance(0.5),
  };
}

/** The page is opened and paid within seconds, or at the last moment; some pay twice at once, some with two cards. */
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
