/** Reads the figures of webhook metrics at an interval of some seconds, not at each scrape. */

import type { StreamWatch } from "../events/stream-watch.ts";
import type { EventStream } from "../events/streams.ts";
import { loadWebhookFigures } from "../events/webhook-figures.ts";
import type { Database } from "../platform/database.ts";
import type { NatsLink } from "../platform/nats.ts";
import type { StreamFigures, WebhookMetrics } from "./webhook-metrics.ts";

export type SampleContext = {
  readonly environmentName: string;
  readonly database: Database;
  readonly nats: NatsLink;
  readonly stream: EventStream;
  readonly streamWatch: StreamWatch;
  readonly metrics: WebhookMetrics;
};

/** Updates the metrics of one environment. Figures that NATS does not answer are omitted. */
export async function sampleWebhooksOnce(context: SampleContext): Promise<void> {
  const { environmentName, metrics, database } = context;
  metrics.setStream(environmentName, await readStream(context));
  metrics.setFigures(environmentName, await loadWebhookFigures(database));
}

async function readStream({ nats, stream, streamWatch }: SampleContext): Promise<StreamFigures> {
  const { state } = streamWatch;
  let isConnected = false;
  try {
    const connection = nats.connection();
    isConnected = true;
    // Does not query the account first, which would be a second, needless request.
    const { consumers } = await connection.jetstreamManager({ checkAPI: false });
    const info = await consumers.info(stream.name, stream.workerConsumer);
    return { isConnected, state, lag: { pending: info.num_pending, unacknowledged: info.num_ack_pending } };
  } catch {
    // The loops that use NATS log the reason.
    return { isConnected, state, lag: undefined };
  }
}
