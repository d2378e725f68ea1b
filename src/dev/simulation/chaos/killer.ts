/** Chooses the next outage: kills and stops processes, restarts servers, disconnects acquirers. */
import { setTimeout as pause } from "node:timers/promises";
import type { Dice } from "../dice.ts";
import type { Site } from "./site.ts";

const second = 1_000;
// A strike every two seconds on average: more often, and processes would mostly be starting.
const everyMsMax = 4 * second;

// Shorter than a lease (20 s), longer than one, and past the latest execution time of an attempt at SANDBOX_B (50 s).
const stopLengths: readonly (readonly [weight: number, range: readonly [minS: number, maxS: number]])[] = [
  [60, [1, 15]],
  [30, [15, 40]],
  [10, [55, 75]],
];

/** Strikes at random until `end`; an outage that continues at that time ends by itself. */
export async function strikeUntil(end: AbortSignal, site: Site, dice: Dice): Promise<void> {
  while (!end.aborted) {
    dice.weighted(strikes)(site, dice);
    await pause(dice.between(0, everyMsMax), undefined, { signal: end }).catch(() => {});
  }
}

type Strike = (site: Site, dice: Dice) => void;

const strikes: readonly (readonly [weight: number, strike: Strike])[] = [
  [20, ({ edges }, dice) => dice.pick(edges).kill(downMs(dice))],
  [20, ({ workers }, dice) => dice.pick(workers).kill(downMs(dice))],
  [12, ({ edges }, dice) => dice.pick(edges).stop(stopMs(dice))],
  [12, ({ workers }, dice) => dice.pick(workers).stop(stopMs(dice))],
  [5, ({ vault }, dice) => vault.kill(downMs(dice))],
  [4, ({ vault }, dice) => vault.stop(dice.between(second, 15 * second))],
  // Its requests wait in the system's buffers and are executed when it continues, as late as on a slow network.
  [4, ({ sandbox }, dice) => sandbox.stop(dice.between(second, 12 * second))],
  [8, (site, dice) => void site.cutOff(dice.pick(site.acquirerNames), dice.between(second, 15 * second))],
  [6, (site, dice) => void site.moveNotificationsTo(dice.between(0, 1))],
  [4, ({ postgres }, dice) => dice.pick(postgres).restart(dice.pick(["fast", "immediate", "killed"]), downMs(dice))],
  [4, ({ nats }, dice) => nats.kill({ losesStore: dice.chance(0.4) }, downMs(dice))],
  // Each gateway is to be charged first at times: a rule stays for about twenty seconds.
  [10, (site, dice) => void site.reorderGateways(dice)],
];

function downMs(dice: Dice): number {
  return dice.between(0, 4 * second);
}

function stopMs(dice: Dice): number {
  const [minS, maxS] = dice.weighted(stopLengths);
  return dice.between(minS * second, maxS * second);
}
