/** The webhook worker: events come in from JetStream, or by the sweep without it, and go straight to the delivery lane. */
import { type LoopWatch, runLoop } from "../platform/loop.ts";
import type { DeliverContext } from "./deliver.ts";
import { DeliveryLane } from "./delivery-lane.ts";
import { type IntakeContext, openWorkerConsumer, receiveOnce } from "./event-intake.ts";
import { sweepOnce } from "./fan-out.ts";

/** A webhook worker that is running. */
export type WebhookWorker = {
  /** Looks for deliveries of these endpoints now, after one was verified or enabled. */
  hint(endpointIds: readonly string[]): void;
  /** Takes nothing new, and resolves when the posts under way are recorded. */
  close(): Promise<void>;
};

// After trouble with NATS; the sweep covers the time until then.
const reopenMs = 1_000;
// Well below the 10 s after which an event counts as overdue.
const sweepEveryMs = 2_000;

/** What a worker is made from. */
export type WebhookWorkerContext = DeliverContext &
  IntakeContext & {
    /** Who is told of the turns of a loop; nobody where it is absent. */
    readonly watchLoop?: ((loop: string, intervalMs: number) => LoopWatch) | undefined;
  };

/** Starts one worker of any number; they share the work through PostgreSQL and the durable consumer. */
export function startWebhookWorker(context: WebhookWorkerContext): WebhookWorker {
  const { watchLoop } = context;
  const lane = new DeliveryLane(context, (intervalMs) => watchLoop?.("deliveries", intervalMs));
  let consumerIsDoubtful = false;

  const intake = runLoop({
    name: "event-intake",
    intervalMs: reopenMs,
    log: context.log,
    watch: watchLoop?.("event-intake", reopenMs),
    turn: async (closing) => {
      const consumer = await openWorkerConsumer(context);
      consumerIsDoubtful = false;
      const onDeliveries = (endpointIds: string[]) => lane.hint(endpointIds);
      while (!closing.aborted && !consumerIsDoubtful) await receiveOnce(context, consumer, { closing, onDeliveries });
      return true;
    },
  });

  const sweep = runLoop({
    name: "event-sweep",
    intervalMs: sweepEveryMs,
    log: context.log,
    watch: watchLoop?.("event-sweep", sweepEveryMs),
    turn: async () => {
      const swept = await sweepOnce(context.database);
      lane.hint(swept.endpointIds);
      // The watchdog: JetStream took events and brought none. The client does not notice every consumer that is gone.
      if (swept.lostMessages > 0) consumerIsDoubtful = true;
      return swept.full;
    },
  });

  return {
    hint: (endpointIds) => lane.hint(endpointIds),
    close: async () => {
      await Promise.all([intake.close(), sweep.close()]);
      await lane.close();
    },
  };
}
