/**
 * The delivery pool of a worker: runs many deliveries at once, none waiting for another, and never more than the worker
 * can hold.
 */
import { encodeId } from "../platform/ids.ts";
import { type Loop, type LoopObserver, runLoop } from "../platform/loop.ts";
import { AttemptRecorder } from "./attempt-recorder.ts";
import { type Claim, type ClaimedDelivery, claimDeliveries } from "./claim-deliveries.ts";
import { type DeliverContext, deliver } from "./deliver.ts";

// A delivery in progress is a socket, a body of a few KiB and a timer.
const underWayMax = 512;
// Endpoints answer within milliseconds. A post that has waited this long hangs, most likely until its deadline, and no
// longer takes the room of quick ones. As many again may hang, so all endpoints of a big host may begin to hang at
// once.
const quickMs = 2_000;
const hangingMax = 512;
// A merchant's endpoints are often one server and hang together: two at their full window leave room for the others.
const underWayOfMerchantMax = 128;
// Endpoints that fail may take 15 s each time. However many there are, half of the pool is for those that do not.
const underWayOfFailingMax = 256;
// Retries fall due without a hint; a second is little compared with their schedule.
const lookEverywhereMs = 1_000;

/** A delivery from its claim until it is recorded. `postingSinceMs` is set until its post has ended. */
type UnderWay = { readonly claimed: ClaimedDelivery; postingSinceMs: number };

/** The delivery pool of one worker. */
export class DeliveryPool {
  readonly #context: DeliverContext;
  readonly #recorder: AttemptRecorder;
  readonly #loop: Loop;
  readonly #underWay = new Map<Promise<void>, UnderWay>();
  #hinted = new Set<string>();
  #hintedMerchants = new Set<string>();
  #lookedEverywhereAt = Number.NEGATIVE_INFINITY;

  constructor(context: DeliverContext, observerOf?: (intervalMs: number) => LoopObserver | undefined) {
    this.#context = context;
    this.#recorder = new AttemptRecorder(context.database);
    this.#loop = runLoop({
      name: "deliveries",
      intervalMs: lookEverywhereMs,
      log: context.log,
      turn: () => this.#claimOnce(),
      observer: observerOf?.(lookEverywhereMs),
    });
  }

  /** Looks for deliveries of these endpoints at once, because they have something new or have room again. */
  hint(endpointIds: readonly string[]): void {
    if (endpointIds.length === 0) return;
    for (const id of endpointIds) this.#hinted.add(id);
    this.#loop.wake();
  }

  /** Stops claiming. Resolves when the deliveries in progress are recorded: after at most one post's time. */
  async close(): Promise<void> {
    await this.#loop.close();
    await Promise.all(this.#underWay.keys());
  }

  async #claimOnce(): Promise<boolean> {
    const { limit, shares } = this.#room();
    // Every delivery that ends gives a hint, so a full pool is woken when there is room; otherwise the next look finds
    // it.
    if (limit === 0) return false;
    const claimed = await claimDeliveries(this.#context.database, {
      leaseToken: this.#context.runtime.uuid(),
      limit,
      where: this.#whereToLook(),
      shares,
    });
    for (const one of claimed) this.#start({ claimed: one, postingSinceMs: performance.now() });
    return false;
  }

  /** Returns the hinted endpoints, or everything once a second, however many hints there are. */
  #whereToLook(): Claim["where"] {
    const where = { endpointIds: [...this.#hinted], merchantIds: [...this.#hintedMerchants] };
    this.#hinted = new Set();
    this.#hintedMerchants = new Set();
    const everywhere = performance.now() - this.#lookedEverywhereAt >= lookEverywhereMs;
    if (where.endpointIds.length > 0 && !everywhere) return where;
    this.#lookedEverywhereAt = performance.now();
    return undefined;
  }

  /** Returns how many more deliveries fit, and the shares of merchants. */
  #room(): { limit: number; shares: NonNullable<Claim["shares"]> } {
    const quickFromMs = performance.now() - quickMs;
    const underWay = new Map<string, number>();
    const hanging = new Set<string>();
    let late = 0;
    let failing = 0;
    for (const { claimed, postingSinceMs } of this.#underWay.values()) {
      const { endpoint_id, merchant_id, is_failing } = claimed;
      underWay.set(merchant_id, (underWay.get(merchant_id) ?? 0) + 1);
      const isLate = postingSinceMs < quickFromMs;
      if (isLate) hanging.add(endpoint_id);
      if (isLate) late += 1;
      if (isLate || is_failing) failing += 1;
    }
    const limit = Math.max(0, underWayMax - this.#underWay.size + Math.min(late, hangingMax));
    const ofFailing = Math.max(0, underWayOfFailingMax - failing);
    return { limit, shares: { underWay, ofMerchant: underWayOfMerchantMax, ofFailing, hanging } };
  }

  #start(underWay: UnderWay): void {
    const { claimed } = underWay;
    const record: AttemptRecorder["record"] = (...ended) => {
      underWay.postingSinceMs = Number.POSITIVE_INFINITY;
      return this.#recorder.record(...ended);
    };
    const done = deliver(this.#context, claimed, { record })
      .then(
        () => {},
        // Its lease runs out and another claim retries it. Network failures do not end here.
        (error: unknown) => {
          const [endpoint, event] = [encodeId("we", claimed.endpoint_id), encodeId("evt", claimed.event_id)];
          const stage = underWay.postingSinceMs === Number.POSITIVE_INFINITY ? "recording" : "signing";
          this.#context.log.error(
            { endpoint, event, stage, err: error },
            "a delivery could not be attempted or recorded",
          );
        },
      )
      .finally(() => {
        // Its merchant was at its limit: another of its endpoints may be next.
        const isFull = this.#room().shares.underWay.get(claimed.merchant_id) === underWayOfMerchantMax;
        if (isFull) this.#hintedMerchants.add(claimed.merchant_id);
        this.#underWay.delete(done);
        this.hint([claimed.endpoint_id]);
      });
    this.#underWay.set(done, underWay);
  }
}
