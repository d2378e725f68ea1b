/** A merchant's webhook endpoints: proto ↔ events. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  AddWebhookEndpointResponseSchema,
  EnableWebhookEndpointResponseSchema,
  RotateWebhookSecretResponseSchema,
  VerifyWebhookEndpointResponseSchema,
  type WebhookEndpointService,
} from "../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { type EndpointChange, removeEndpoint, rotateSecret, updateEndpoint } from "../events/change-endpoint.ts";
import {
  clearDisabledEndpoint,
  disableEndpoint,
  enableEndpoint,
  pauseEndpoint,
  resumeEndpoint,
} from "../events/endpoint-status.ts";
import {
  type EndpointKey,
  listEndpoints,
  loadEndpoint,
  registerEndpoint,
  verifyEndpoint,
} from "../events/endpoints.ts";
import { countMissedEvents } from "../events/recover-deliveries.ts";
import type { Tx } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { scopedContextOf } from "./rpc-context.ts";
import { attemptMessage, endpointMessage, requireEndpointId, showEndpoint } from "./webhook-messages.ts";

type EndpointRequest = { readonly endpointId: string; readonly version?: number | undefined };

type Methods = ServiceImpl<typeof WebhookEndpointService>;

/** The rpcs of `WebhookEndpointService`; each change audits the endpoint before and after. */
export function createWebhookEndpointService(): Methods {
  return { ...setUpMethods(), ...changeMethods() };
}

type SetUp = "addWebhookEndpoint" | "verifyWebhookEndpoint" | "listWebhookEndpoints" | "getWebhookEndpoint";

function setUpMethods(): Pick<Methods, SetUp> {
  return {
    async addWebhookEndpoint({ url, eventTypes }, context) {
      const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
      // DNS must not be queried inside a transaction.
      await environment.endpoints.egress.requirePublic(url);
      const { endpoint, signingSecret } = await change(async (tx) => {
        const registered = await registerEndpoint(
          { ...environment.endpoints, database: tx },
          { merchantId, url, eventTypes },
        );
        const subject = encodeId("we", registered.endpoint.id);
        await rpcContext.audit(tx, { subject, after: { url: registered.endpoint.url, eventTypes } });
        return registered;
      });
      return create(AddWebhookEndpointResponseSchema, {
        endpoint: endpointMessage(endpoint),
        signingSecret: signingSecret.expose(),
      });
    },

    async verifyWebhookEndpoint({ endpointId }, context) {
      const { merchantId, environment, rpcContext } = scopedContextOf(context);
      const key = { merchantId, endpointId: requireEndpointId(endpointId) };
      const posting = { ...environment.endpoints, database: rpcContext.transactingIn(environment) };
      const { verified, attempt } = await verifyEndpoint(posting, key, (tx, isVerified) =>
        rpcContext.audit(tx, { subject: endpointId, after: { verified: isVerified } }),
      );
      const { durationMs, answer } = attemptMessage(attempt);
      return create(VerifyWebhookEndpointResponseSchema, { verified, durationMs, answer });
    },

    async listWebhookEndpoints(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const endpoints = await listEndpoints(environment.database, merchantId);
      return { endpoints: endpoints.map(endpointMessage) };
    },

    async getWebhookEndpoint({ endpointId }, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const key = { merchantId, endpointId: requireEndpointId(endpointId) };
      const endpoint = endpointMessage(await loadEndpoint(environment.database, key));
      return { endpoint };
    },
  };
}

function changeMethods(): Omit<Methods, SetUp> {
  return {
    async updateWebhookEndpoint(request, context) {
      const { endpoints } = scopedContextOf(context).environment;
      const { url, eventTypes, version } = request;
      if (url !== undefined) await endpoints.egress.requirePublic(url);
      const wanted = { url, eventTypes: eventTypes?.types, version };
      const { after } = await changeEndpoint(request, context, (tx, key) => updateEndpoint(tx, endpoints, key, wanted));
      return { endpoint: endpointMessage(after) };
    },

    async rotateWebhookSecret(request, context) {
      const { endpoints } = scopedContextOf(context).environment;
      const { after, signingSecret } = await changeEndpoint(request, context, (tx, key) =>
        rotateSecret(tx, endpoints, key, request),
      );
      return create(RotateWebhookSecretResponseSchema, {
        endpoint: endpointMessage(after),
        signingSecret: signingSecret.expose(),
      });
    },

    async pauseWebhookEndpoint(request, context) {
      const { after } = await changeEndpoint(request, context, pauseEndpoint);
      return { endpoint: endpointMessage(after) };
    },

    async resumeWebhookEndpoint(request, context) {
      const { after } = await changeEndpoint(request, context, resumeEndpoint);
      return { endpoint: endpointMessage(after) };
    },

    async disableWebhookEndpoint(request, context) {
      const { after } = await changeEndpoint(request, context, disableEndpoint);
      return { endpoint: endpointMessage(after) };
    },

    async enableWebhookEndpoint(request, context) {
      const { merchantId, environment, rpcContext } = scopedContextOf(context);
      const key = { merchantId, endpointId: requireEndpointId(request.endpointId) };
      await clearDisabledEndpoint(rpcContext.transactingIn(environment), key);
      const { after, missedSince: since } = await changeEndpoint(request, context, enableEndpoint);
      const endpoint = endpointMessage(after);
      if (since === undefined) return { endpoint };
      const missedEvents = await countMissedEvents(environment.database, key, since);
      return create(EnableWebhookEndpointResponseSchema, {
        endpoint,
        missedSince: timestampFromDate(since),
        missedEvents,
      });
    },

    async removeWebhookEndpoint(request, context) {
      await changeEndpoint(request, context, removeEndpoint);
      return {};
    },
  };
}

/** Changes one endpoint of its owner, in a transaction with its audit row. */
async function changeEndpoint<Change extends EndpointChange>(
  { endpointId, version }: EndpointRequest,
  context: HandlerContext,
  work: (tx: Tx, key: EndpointKey, version: number | undefined) => Promise<Change>,
): Promise<Change> {
  const { merchantId, rpcContext, change } = scopedContextOf(context);
  const key = { merchantId, endpointId: requireEndpointId(endpointId) };
  return change(async (tx) => {
    const changed = await work(tx, key, version);
    const [before, after] = [showEndpoint(changed.before), showEndpoint(changed.after)];
    await rpcContext.audit(tx, { subject: endpointId, before, after });
    return changed;
  });
}
