/** Delivers once without a delivery pool, so that a test decides when webhooks are posted. */
import { type DeliverContext, type DeliveryResult, deliver } from "../../../events/deliver.ts";
import { claimDeliveries } from "../../../events/delivery-pool.ts";
import { AttemptRecorder } from "../../../events/record-delivery.ts";

const batchDeliveries = 100;

/** Claims due deliveries and attempts each once, all at the same time. */
export async function deliverOnce(context: DeliverContext): Promise<DeliveryResult[]> {
  const leaseToken = context.runtime.uuid();
  const claimed = await claimDeliveries(context.database, { leaseToken, limit: batchDeliveries });
  const recorder = new AttemptRecorder(context.database);
  return Promise.all(claimed.map((delivery) => deliver(context, delivery, recorder)));
}
