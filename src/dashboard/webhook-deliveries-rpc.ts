/** Deliveries of a merchant's events: proto ↔ events. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetWebhookDeliveryResponseSchema,
  type ListWebhookDeliveriesRequest,
  ListWebhookDeliveriesResponseSchema,
  RecoverWebhookDeliveriesResponseSchema,
  ReplayWebhookDeliveryResponseSchema,
  WebhookDelivery_Status,
  type WebhookDeliveryService,
} from "../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import { isAccepted } from "../events/deliver.ts";
import {
  type DeliveryFilter,
  deliveryStatuses,
  findTestEvent,
  listDeliveries,
  loadDelivery,
} from "../events/delivery-log.ts";
import { recoverDeliveries } from "../events/recover-deliveries.ts";
import { replayDelivery } from "../events/replay-delivery.ts";
import { encodeId, type MerchantId } from "../platform/ids.ts";
import { shownEventBody } from "../reporting/shown-order-ref.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { loadPage, momentOf } from "./paging.ts";
import { scopedContextOf } from "./rpc-context.ts";
import {
  attemptMessage,
  deliveryMessage,
  logMessage,
  requireEndpointId,
  requireEventId,
  requireId,
} from "./webhook-messages.ts";

/** The rpcs of `WebhookDeliveryService`: the log, replay and recovery, and the feed of events. */
export function createWebhookDeliveryService({ runtime }: DashboardParts): ServiceImpl<typeof WebhookDeliveryService> {
  return {
    async listWebhookDeliveries(request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const filter = filterOf(request);
      const list = ["webhook deliveries", merchantId, filter];
      const about = { list, key: environment.core.pageTokenKey, now: runtime.now() };
      const { rows, nextPageToken } = await loadPage(request, about, async ({ after, count }) => {
        const page = { filter, after: after === undefined ? undefined : placeOf(after), count };
        const found = await listDeliveries(environment.database, merchantId, page);
        return found.map((delivery) => ({ ...delivery, id: `${delivery.eventId}/${delivery.endpointId}` }));
      });
      return create(ListWebhookDeliveriesResponseSchema, { deliveries: rows.map(deliveryMessage), nextPageToken });
    },

    async getWebhookDelivery(request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const key = keyOf(merchantId, request);
      const test = await findTestEvent(environment.database, key);
      const found = test ? { ...test, body: "" } : await loadDelivery(environment.database, key);
      return create(GetWebhookDeliveryResponseSchema, {
        delivery: deliveryMessage(found),
        log: found.log.map(logMessage),
        body: shownEventBody(found.body.toString()),
      });
    },

    async replayWebhookDelivery(request, context) {
      const { merchantId, environment, rpcContext } = scopedContextOf(context);
      const key = keyOf(merchantId, request);
      const posting = { ...environment.endpoints, database: rpcContext.transactingIn(environment) };
      const subject = `${request.endpointId}/${request.eventId}`;
      const attempt = await replayDelivery(posting, key, (tx, each) =>
        rpcContext.audit(tx, { subject, after: { taken: isAccepted(each) } }),
      );
      return create(ReplayWebhookDeliveryResponseSchema, {
        accepted: isAccepted(attempt),
        attempt: attemptMessage(attempt),
        delivery: deliveryMessage(await loadDelivery(environment.database, key)),
      });
    },

    async recoverWebhookDeliveries(request, context) {
      const { merchantId, rpcContext, change } = scopedContextOf(context);
      const { endpointId, afterEventId } = request;
      const key = { merchantId, endpointId: requireEndpointId(endpointId) };
      const since = momentOf("since", request.since)!;
      const after = afterEventId === "" ? undefined : requireEventId(afterEventId);
      const { due, nextAfter } = await change(async (tx) => {
        const batch = await recoverDeliveries(tx, key, { since, after });
        const from = { since: since.toISOString(), ...(after !== undefined && { afterEventId }) };
        await rpcContext.audit(tx, { subject: endpointId, after: { ...from, due: batch.due } });
        return batch;
      });
      const nextAfterEventId = nextAfter === undefined ? "" : encodeId("evt", nextAfter);
      return create(RecoverWebhookDeliveriesResponseSchema, { due, nextAfterEventId });
    },
  };
}

function filterOf(request: ListWebhookDeliveriesRequest): DeliveryFilter {
  const { endpointId, sessionId, eventId } = request;
  return {
    ...(endpointId !== "" && { endpointId: requireEndpointId(endpointId) }),
    ...(sessionId !== "" && { sessionId: requireId("ps", sessionId, "session") }),
    ...(eventId !== "" && { eventId: requireEventId(eventId) }),
    status: deliveryStatuses.find((status) => WebhookDelivery_Status[status] === request.status),
  };
}

/** Returns the two ids that a page token holds; it is signed, so they are there. */
function placeOf(after: string) {
  const [eventId = "", endpointId = ""] = after.split("/");
  return { eventId, endpointId };
}

function keyOf(merchantId: MerchantId, { endpointId, eventId }: { endpointId: string; eventId: string }) {
  return { merchantId, endpointId: requireEndpointId(endpointId), eventId: requireEventId(eventId) };
}
