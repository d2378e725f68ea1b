/** A merchant's webhook endpoints: proto ↔ events. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AddWebhookEndpointResponseSchema,
  ListWebhookEndpointsResponseSchema,
  VerifyWebhookEndpointResponseSchema,
  WebhookEndpoint_Status,
  type WebhookEndpointService,
} from "../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { type Endpoint, listEndpoints, registerEndpoint, verifyEndpoint } from "../events/endpoints.ts";
import type { Try } from "../events/record-delivery.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { scopedVisitOf } from "./visit.ts";

/** The rpcs that register, verify and list a merchant's webhook endpoints. */
export function createWebhookEndpointService(): ServiceImpl<typeof WebhookEndpointService> {
  return {
    async addWebhookEndpoint({ url, eventTypes }, context) {
      const { merchantId, environment, visit, change } = scopedVisitOf(context);
      const { endpoint, signingSecret } = await change(async (tx) => {
        const registered = await registerEndpoint(
          { ...environment.endpoints, database: tx },
          { merchantId, url, eventTypes },
        );
        const subject = encodeId("we", registered.endpoint.id);
        await visit.audit(tx, { subject, after: { url: registered.endpoint.url, eventTypes } });
        return registered;
      });
      return create(AddWebhookEndpointResponseSchema, {
        endpoint: toMessage(endpoint),
        signingSecret: signingSecret.expose(),
      });
    },

    async verifyWebhookEndpoint(request, context) {
      const { merchantId, environment, visit } = scopedVisitOf(context);
      const endpointId = decodeId("we", request.endpointId);
      if (endpointId === undefined) throw new DomainError("not_found", "There is no such endpoint.");
      const { verified, tried } = await verifyEndpoint(environment.endpoints, { merchantId, endpointId });
      // The post must not run inside a transaction, so this row comes after what it tells of.
      await visit.audit(environment.database, { subject: request.endpointId, after: { verified } });
      return create(VerifyWebhookEndpointResponseSchema, { verified, ...toTry(tried) });
    },

    async listWebhookEndpoints(_request, context) {
      const { merchantId, environment } = scopedVisitOf(context);
      const endpoints = await listEndpoints(environment.database, merchantId);
      return create(ListWebhookEndpointsResponseSchema, { endpoints: endpoints.map(toMessage) });
    },
  };
}

function toTry(tried: Try) {
  const answer =
    tried.kind === "answered"
      ? ({ case: "statusCode", value: tried.statusCode } as const)
      : ({ case: "noAnswer", value: tried.because } as const);
  return { durationMs: tried.durationMs, answer };
}

function toMessage({ id, url, status, eventTypes, createdAt }: Endpoint) {
  return {
    endpointId: encodeId("we", id),
    url,
    status: WebhookEndpoint_Status[status],
    eventTypes: [...(eventTypes ?? [])],
    createdAt: timestampFromDate(createdAt),
  };
}
