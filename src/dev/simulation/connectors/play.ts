/**
 * Plays one payment by a seed: requests, answers and notifications fail at the emulators, the customer is challenged, a
 * second process takes over, hours pass; then a calm phase until the session rests.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Core } from "../../../core/core.ts";
import { createSession } from "../../../core/create-session.ts";
import { CircuitBreaker } from "../../../core/execute/circuit-breaker.ts";
import { loadSession } from "../../../core/record/load-session.ts";
import { drain } from "../../../core/scenarios/recovery.fixture.ts";
import { recoverSessionsOnce, submitPayment } from "../../../core/submit-payment.ts";
import { processNotificationsOnce } from "../../../oversight/notifications/process-notifications.ts";
import { createOrphanTurn } from "../../../oversight/orphaned-authorizations.ts";
import { reconcileOnce } from "../../../oversight/reconcile.ts";
import { encodeId } from "../../../platform/ids.ts";
import { Secret } from "../../../platform/secrets.ts";
import type { FaultPlan } from "../../../sandbox/faults.ts";
import { makeReconciliationDue } from "../chaos/site-database.ts";
import { Dice } from "../dice.ts";
import { declinedAgainCard, retriedCard } from "../retry-cards.ts";
import { Customer, shopper } from "./customer.ts";
import { type RealGateway, realGateways, type World } from "./world.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

// Each request meets one in about every third case, so that most payments meet several.
const rates: FaultPlan["rates"] = {
  request_lost: 0.04,
  executed_late: 0.04,
  executed_twice: 0.05,
  answer_lost: 0.06,
  answered_late: 0.02,
  error_after: 0.04,
  answer_cut: 0.04,
  answer_garbled: 0.04,
  error_kept: 0.05,
  result_late: 0.1,
  notification_late: 0.2,
  notification_lost: 0.15,
  notification_twice: 0.2,
};

// Delayed requests wait for the run, which releases them long before this.
const lateMsMax = 10 * minute;

/** The cards by weight: mostly approved, so that there is money to lose. */
const cards = [
  [12, "4242424242424242"],
  [2, "5555555555554444"],
  // Declined by STRIPE and PAYPAL, approved by ADYEN.
  [3, "4000000000000002"],
  // Insufficient funds at every gateway; fraud at every gateway.
  [1, "4000000000009995"],
  [1, "4100000000000019"],
] as const;

/** Cards whose customer is challenged, by weight. */
const askedCards = [
  // STRIPE and PAYPAL challenge the first, ADYEN the second and then holds by itself, all three the third.
  [6, "4000000000007106"],
  [4, "4000000000007114"],
  [4, "4000000000007130"],
  // STRIPE and PAYPAL challenge after a decline that requires it; the first answer to completing is lost.
  [3, "4000000000007163"],
  [2, "4000000000007148"],
  // ADYEN challenges, and holds when the payment is completed.
  [3, "4212345678901237"],
] as const;

/** Cards whose gateways ask to try again, by weight. */
const retryCards = [
  [4, retriedCard],
  [1, declinedAgainCard],
] as const;

/**
 * The share of payments with such a card, by a rule that retries. Separate dice draw them, so the other payments do not
 * change.
 */
const retryShare = 0.3;
const retrySeeds = 1_900_000_043;

/** The share of payments with a card whose customer is challenged, and of those whose page can show it. */
const askedShare = 0.5;
const shownShare = 0.85;
/** Payments that meet no fault at first, with such a card and page and without: faults make it the next gateway's turn. */
const calmShare = { shown: 0.75, other: 0.25 };

/** The call during which another process takes the payment over. */
const takeOverAt: Readonly<Record<RealGateway, readonly string[]>> = {
  STRIPE: ["stripe.create", "stripe.confirm", "stripe.capture"],
  ADYEN: ["adyen.authorize", "adyen.complete", "adyen.capture"],
  PAYPAL: ["paypal.create", "paypal.authorize", "paypal.capture"],
};

const turnsOfTrouble = 5;
// A capture or void is repeated after five minutes at most, and no gateway executes anything later than this.
const calmTurnMs = 6 * minute;
const calmTurnsMax = 40;
// Some customers answer their bank minutes after everything else has calmed down.
const lateTurns = 3;
// Gateways report within milliseconds; this only keeps turns from using all of the time.
const breathMs = 5;

type Pair = readonly [Core, Core];

/** Plays one seed until its session settles, and returns the session's id, even if it never settles. */
export async function play(world: World, seed: number): Promise<string> {
  const payment = new Payment(world, new Dice(seed));
  await payment.begin(seed);
  for (let turn = 0; turn < turnsOfTrouble; turn++) await payment.troubledTurn();
  await payment.letHoursPass();
  await world.setFaults();
  for (let turn = 0; turn < calmTurnsMax; turn++) {
    if (await payment.restsAfterTurn(turn)) break;
    await payment.passTime(calmTurnMs);
    await pause(breathMs);
  }
  return payment.sessionId;
}

class Payment {
  sessionId = "";
  readonly #world: World;
  readonly #dice: Dice;
  readonly #processes: Pair;
  readonly #customer: Customer;
  #aheadMs = 0;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
    this.#customer = new Customer(dice);
    // The circuit breaker must not carry over results of other seeds.
    const fresh = (core: Core): Core => ({ ...core, circuitBreaker: new CircuitBreaker() });
    this.#processes = [fresh(world.processes[0]), fresh(world.processes[1])];
  }

  /** A process submits the payment; another may take it over during its first gateway's calls. */
  async begin(seed: number): Promise<void> {
    const { control, owner } = this.#world;
    const dice = this.#dice;
    await this.#world.setClockAhead(0);
    const gateways = dice.shuffled(realGateways).slice(0, dice.between(1, realGateways.length));
    const retryDice = new Dice((seed + retrySeeds) % 2 ** 31);
    const retries = retryDice.chance(retryShare);
    await this.#world.setRule(gateways, retries);
    const isAsked = dice.chance(askedShare);
    const card = isAsked ? dice.weighted(askedCards) : dice.weighted(cards);
    this.#world.useCard(retries ? retryDice.weighted(retryCards) : card);
    const [first, second] = this.#shuffled();
    const order = { amountMinor: dice.between(1, 200_000), currency: dice.pick(["EUR", "USD", "JPY"]) };
    const { session } = await createSession(first, owner, { ...order, orderRef: `order-${seed}` });
    this.sessionId = session.id;
    const faults = { seed: String(seed), rates, lateMsMax };
    const isShown = dice.chance(isAsked ? shownShare : 0.5);
    const isCalm = dice.chance(isAsked && isShown ? calmShare.shown : calmShare.other);
    if (!isCalm) await this.#world.setFaults(faults);
    const operation = dice.chance(0.4) ? dice.pick(takeOverAt[gateways[0]!]) : undefined;
    if (operation !== undefined) await control.hold(operation);
    // The page leaves at once and does not wait for the outcome.
    await submitPayment(first, {
      session: (await loadSession(first.database, session.id)).session,
      vaultToken: new Secret("tok_1"),
      signal: AbortSignal.abort(),
      ...(isShown && { shopper }),
    });
    if (operation !== undefined) await this.#takeOver(operation, first, second);
    await this.#world.idle();
    if (isCalm) await this.#world.setFaults(faults);
  }

  /** Time passes, delayed requests may arrive, and the first process to claim the session continues. */
  async troubledTurn(): Promise<void> {
    const { control } = this.#world;
    const dice = this.#dice;
    await this.passTime(
      dice.weighted([
        [50, dice.between(1, 5) * second],
        [30, dice.between(10, 40) * second],
        [20, dice.between(1, 10) * minute],
      ]),
    );
    if (dice.chance(0.4)) await control.release({ operation: "fault" });
    const [one, other] = this.#shuffled();
    const operation = dice.chance(0.2) ? dice.pick(Object.values(takeOverAt).flat()) : undefined;
    if (operation !== undefined) await control.hold(operation);
    await this.#customer.act(other, this.sessionId);
    await processNotificationsOnce(one);
    await recoverSessionsOnce(one);
    if (operation !== undefined) await this.#takeOver(operation, one, other);
    await this.#world.idle();
  }

  /** Hours pass, as in an outage. A payment without a name at its gateway then needs a person. */
  async letHoursPass(): Promise<void> {
    if (!this.#dice.chance(0.2)) return;
    const { attempts } = await loadSession(this.#processes[0].database, this.sessionId);
    const areNamed = attempts.every(({ gatewayReference, completedAt }) => gatewayReference ?? completedAt);
    if (areNamed) await this.passTime(this.#dice.between(7, 30) * hour);
  }

  /** Runs a turn of recovery without faults; returns true when nothing is left to do. */
  async restsAfterTurn(turn: number): Promise<boolean> {
    const { control, asOwner, databaseUrl } = this.#world;
    const one = this.#processes[turn % this.#processes.length]!;
    if (turn < lateTurns) await this.#customer.act(one, this.sessionId);
    await processNotificationsOnce(one);
    await recoverSessionsOnce(one);
    await this.#world.idle();
    const { session, attempts } = await loadSession(one.database, this.sessionId);
    if (session.phase !== "DONE") return false;
    const references = new Set(attempts.map(({ id }) => encodeId("att", id)));
    const isHeld = (await control.authorizations()).some(
      ({ reference, status }) => status === "held" && references.has(reference),
    );
    if (isHeld) {
      await makeReconciliationDue(databaseUrl);
      while (await reconcileOnce(one));
    }
    await drain(createOrphanTurn(one));
    return !isHeld && (await asOwner.query(orphans, [this.sessionId])).length === 0;
  }

  async passTime(ms: number): Promise<void> {
    this.#aheadMs += ms;
    await this.#world.setClockAhead(this.#aheadMs);
  }

  /** Lets the other process take the payment over while this one waits for a gateway's late answer. */
  async #takeOver(operation: string, from: Core, to: Core): Promise<void> {
    const { control, asOwner } = this.#world;
    const called = control.paused({ operation });
    // If the call is never made, this ends with the emulators.
    called.catch(() => {});
    await Promise.race([called, Promise.all(from.inFlight)]);
    await asOwner.query(lapse, [this.sessionId]);
    await recoverSessionsOnce(to);
    await Promise.all(to.inFlight);
    await control.release({ operation });
  }

  #shuffled(): Pair {
    const [one, other] = this.#processes;
    return this.#dice.chance(0.5) ? [one, other] : [other, one];
  }
}

const lapse = {
  name: "lapse",
  text: `
    UPDATE payment_session SET lease_until = app.clock() - interval '1 s' WHERE id = $1 AND phase = 'PROCESSING'`,
};
const orphans = {
  name: "orphans_left",
  text: "SELECT 1 FROM orphaned_authorization WHERE session_id = $1 AND ended_at IS NULL",
};
