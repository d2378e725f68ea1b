/**
 * The webhook worker: receives events from JetStream, or by the sweep without it, and passes them to the delivery pool.
 */
import { type LoopObserver, runLoop } from "../platform/loop.ts";
import type { DeliverContext } from "./deliver.ts";
import { DeliveryPool } from "./delivery-pool.ts";
import { type IntakeContext, openWorkerConsumer, receiveOnce } from "./event-intake.ts";
import { sweepOnce } from "./fan-out.ts";

/** A running webhook worker. */
export type WebhookWorker = {
  /** Looks for deliveries of these endpoints now, after one was verified or enabled. */
  hint(endpointIds: readonly string[]): void;
  /** Stops claiming. Resolves when the posts in progress are recorded. */
  close(): Promise<void>;
};

// Pause after a failure of NATS; the sweep covers the time until then.
const reopenMs = 1_000;
// Well below the 10 s after which an event counts as overdue.
const sweepEveryMs = 2_000;

/** The dependencies of a webhook worker. */
export type WebhookWorkerContext = DeliverContext &
  IntakeContext & {
    /** Returns the observer of a loop's turns; optional. */
    readonly observeLoop?: ((loop: string, intervalMs: number) => LoopObserver) | undefined;
  };

/** Starts a worker. Any number of workers share the work through PostgreSQL and the durable consumer. */
export function startWebhookWorker(context: WebhookWorkerContext): WebhookWorker {
  const { observeLoop } = context;
  const deliveryPool = new DeliveryPool(context, (intervalMs) => observeLoop?.("deliveries", intervalMs));
  let consumerIsDoubtful = false;

  const intake = runLoop({
    name: "event-intake",
    intervalMs: reopenMs,
    log: context.log,
    observer: observeLoop?.("event-intake", reopenMs),
    turn: async (closing) => {
      const consumer = await openWorkerConsumer(context);
      consumerIsDoubtful = false;
      const onDeliveries = (endpointIds: string[]) => deliveryPool.hint(endpointIds);
      while (!closing.aborted && !consumerIsDoubtful) await receiveOnce(context, consumer, { closing, onDeliveries });
      return true;
    },
  });

  const sweep = runLoop({
    name: "event-sweep",
    intervalMs: sweepEveryMs,
    log: context.log,
    observer: observeLoop?.("event-sweep", sweepEveryMs),
    turn: async () => {
      const swept = await sweepOnce(context.database);
      deliveryPool.hint(swept.endpointIds);
      // The watchdog: JetStream accepted events and delivered none. The client does not notice every deleted consumer.
      if (swept.lostMessages > 0) consumerIsDoubtful = true;
      return swept.full;
    },
  });

  return {
    hint: (endpointIds) => deliveryPool.hint(endpointIds),
    close: async () => {
      await Promise.all([intake.close(), sweep.close()]);
      await deliveryPool.close();
    },
  };
}
