/** Keeps a worker's deliveries going: many at once, none waiting for another, never more than the worker can hold. */
import { type Loop, runLoop } from "../platform/loop.ts";
import { type ClaimedDelivery, claimDeliveries } from "./claim-deliveries.ts";
import { type DeliverContext, deliver } from "./deliver.ts";

// A delivery under way is a socket, a body of a few KiB and a timer.
const underWayMax = 512;
// Retries fall due without anybody hinting; a second is little beside their schedule.
const lookEverywhereMs = 1_000;

/** The deliveries of one worker. */
export class DeliveryLane {
  readonly #context: DeliverContext;
  readonly #loop: Loop;
  readonly #underWay = new Set<Promise<void>>();
  #hinted = new Set<string>();
  #lookedEverywhereAt = Number.NEGATIVE_INFINITY;

  constructor(context: DeliverContext) {
    this.#context = context;
    this.#loop = runLoop({
      name: "deliveries",
      intervalMs: lookEverywhereMs,
      log: context.log,
      turn: () => this.#claimOnce(),
    });
  }

  /** These endpoints have something new or have room again: looks there at once. */
  hint(endpointIds: readonly string[]): void {
    if (endpointIds.length === 0) return;
    for (const id of endpointIds) this.#hinted.add(id);
    this.#loop.wake();
  }

  /** Claims no more, and resolves when what is under way is recorded: at most one post's time. */
  async close(): Promise<void> {
    await this.#loop.close();
    await Promise.all(this.#underWay);
  }

  async #claimOnce(): Promise<boolean> {
    const limit = underWayMax - this.#underWay.size;
    // Every delivery that ends hints, so a full lane is woken when there is room.
    if (limit === 0) return false;
    const claimed = await claimDeliveries(this.#context.database, {
      leaseToken: this.#context.entropy.uuid(),
      limit,
      endpointIds: this.#whereToLook(),
    });
    for (const delivery of claimed) this.#start(delivery);
    return false;
  }

  /** The endpoints that were hinted at or, once a second however many those are, all. */
  #whereToLook(): string[] | undefined {
    const hinted = [...this.#hinted];
    this.#hinted = new Set();
    const everywhere = performance.now() - this.#lookedEverywhereAt >= lookEverywhereMs;
    if (hinted.length > 0 && !everywhere) return hinted;
    this.#lookedEverywhereAt = performance.now();
    return undefined;
  }

  #start(delivery: ClaimedDelivery): void {
    const done = deliver(this.#context, delivery)
      .then(
        () => {},
        // Its lease runs out and somebody tries again; the network's failures do not come here.
        (error: unknown) => this.#context.log.error({ err: error }, "a delivery could not be tried or recorded"),
      )
      .finally(() => {
        this.#underWay.delete(done);
        this.hint([delivery.endpoint_id]);
      });
    this.#underWay.add(done);
  }
}
