/** Reads what webhook metrics show, every some seconds and not for each scrape. */

import type { StreamWatch } from "../events/stream-watch.ts";
import type { EventStream } from "../events/streams.ts";
import { loadWebhookFigures } from "../events/webhook-figures.ts";
import type { Database } from "../platform/database.ts";
import type { NatsLink } from "../platform/nats.ts";
import type { StreamFigures, WebhookMetrics } from "./webhook-metrics.ts";

/** What is sampled, and where it is shown. */
export type SampleContext = {
  readonly environmentName: string;
  readonly database: Database;
  readonly nats: NatsLink;
  readonly stream: EventStream;
  readonly watch: StreamWatch;
  readonly metrics: WebhookMetrics;
};

/** Brings the metrics of one environment up to date. What NATS does not answer is not shown; throws without the database. */
export async function sampleWebhooksOnce(context: SampleContext): Promise<void> {
  const { environmentName, metrics, database } = context;
  metrics.setStream(environmentName, await readStream(context));
  metrics.setFigures(environmentName, await loadWebhookFigures(database));
}

async function readStream({ nats, stream, watch }: SampleContext): Promise<StreamFigures> {
  const { state } = watch;
  let isConnected = false;
  try {
    const connection = nats.connection();
    isConnected = true;
    // Without asking for the account first: that would be a second request for nothing.
    const { consumers } = await connection.jetstreamManager({ checkAPI: false });
    const info = await consumers.info(stream.name, stream.workerConsumer);
    return { isConnected, state, lag: { pending: info.num_pending, unacknowledged: info.num_ack_pending } };
  } catch {
    // Why it does not answer is in the log of those that work with it.
    return { isConnected, state, lag: undefined };
  }
}
