/** A merchant's configuration as one message: read, planned, and applied in one transaction. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ApplyConfigurationResponseSchema,
  type ConfigurationService,
  GetConfigurationResponseSchema,
  PlanConfigurationResponseSchema,
} from "../../../gen/dashboard/v1/configuration_pb.ts";
import { RepeatedOrders } from "../../../gen/dashboard/v1/settings_pb.ts";
import { fillOrders } from "../../core/orders/repeated-orders.ts";
import { removeEndpoint, updateEndpoint } from "../../events/change-endpoint.ts";
import { registerEndpoint } from "../../events/endpoints.ts";
import type { Tx } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { encodeId } from "../../platform/ids.ts";
import { saveRule } from "../routing-rules-rpc.ts";
import { type ScopedContext, scopedContextOf } from "../rpc-context.ts";
import { requireRevision, revisionOf } from "../settings-revision.ts";
import { saveSettings } from "../settings-rpc.ts";
import { showEndpoint } from "../webhook-messages.ts";
import { configurationMessage, type Held, loadHeld, revisedParts } from "./configuration-message.ts";
import { type Plan, planConfiguration } from "./plan-configuration.ts";

export const configurationService: ServiceImpl<typeof ConfigurationService> = {
  async getConfiguration(_request, context) {
    const { merchantId, environment } = scopedContextOf(context);
    const held = await loadHeld(environment.database, merchantId);
    const revision = revisionOf(revisedParts(held));
    return create(GetConfigurationResponseSchema, { configuration: configurationMessage(held), revision });
  },

  async planConfiguration({ desired }, context) {
    const { merchantId, environment } = scopedContextOf(context);
    const held = await loadHeld(environment.database, merchantId);
    const { changes } = await planConfiguration(environment.database, { merchantId, environment, held }, desired!);
    return create(PlanConfigurationResponseSchema, { changes: [...changes], revision: revisionOf(revisedParts(held)) });
  },

  async applyConfiguration({ desired, revision, allowRemovals }, context) {
    const scoped = scopedContextOf(context);
    const { merchantId, environment, rpcContext, change } = scoped;
    // DNS must not be queried inside a transaction.
    const known = new Set((await loadHeld(environment.database, merchantId)).endpoints.map(({ url }) => url));
    for (const { url } of desired!.webhooks?.endpoints ?? []) {
      if (!known.has(url)) await environment.endpoints.egress.requirePublic(url);
    }
    const applied = await change(async (tx) => {
      const held = await loadHeld(tx, merchantId);
      requireRevision(revision, revisedParts(held));
      const plan = await planConfiguration(tx, { merchantId, environment, held }, desired!);
      requireAllowed(plan, allowRemovals);
      const addedEndpoints = await write(tx, scoped, { held, plan });
      return { plan, addedEndpoints, held: await loadHeld(tx, merchantId) };
    });
    const { plan, addedEndpoints, held } = applied;
    if (plan.changes.length === 0) rpcContext.leaveNoRow();
    // Also where nothing differs: an earlier call may have given up while a payment was being written.
    if (desired!.checkout?.repeatedOrders === RepeatedOrders.REFUSE)
      await fillOrders(rpcContext.transactingIn(environment), merchantId);
    return create(ApplyConfigurationResponseSchema, {
      changes: [...plan.changes],
      revision: revisionOf(revisedParts(held)),
      addedEndpoints,
    });
  },
};

function requireAllowed({ changes }: Plan, allowRemovals: boolean): void {
  const removing = changes.filter(({ removes }) => removes).map(({ path }) => path);
  if (allowRemovals || removing.length === 0) return;
  const detail = `Something is removed at ${removing.join(", ")}. Allow removals if this is meant.`;
  throw new DomainError("invalid_field", detail, { field: "allowRemovals" });
}

/** Writes every change with its audit row, and returns the secrets of added endpoints. */
async function write(
  tx: Tx,
  { merchantId, environment, rpcContext }: ScopedContext,
  { held, plan }: { readonly held: Held; readonly plan: Plan },
) {
  if (plan.rule) await saveRule(tx, { merchantId, rpcContext }, { before: held.rule, rule: plan.rule });
  if (plan.settings) await saveSettings(tx, rpcContext, { before: held.settings, wanted: plan.settings });
  const { added, retyped, removed } = plan.endpoints;
  for (const { id } of removed) {
    const { before, after } = await removeEndpoint(tx, { merchantId, endpointId: id });
    const subject = encodeId("we", id);
    await rpcContext.audit(tx, { subject, before: showEndpoint(before), after: showEndpoint(after) });
  }
  for (const { endpoint, eventTypes } of retyped) {
    const key = { merchantId, endpointId: endpoint.id };
    const { before, after } = await updateEndpoint(tx, environment.endpoints, key, { eventTypes });
    const subject = encodeId("we", endpoint.id);
    await rpcContext.audit(tx, { subject, before: showEndpoint(before), after: showEndpoint(after) });
  }
  const addedEndpoints = [];
  for (const { url, eventTypes } of added) {
    const registering = { ...environment.endpoints, database: tx };
    const { endpoint, signingSecret } = await registerEndpoint(registering, { merchantId, url, eventTypes });
    const endpointId = encodeId("we", endpoint.id);
    await rpcContext.audit(tx, { subject: endpointId, after: { url: endpoint.url, eventTypes } });
    addedEndpoints.push({ url: endpoint.url, endpointId, signingSecret: signingSecret.expose() });
  }
  return addedEndpoints;
}
