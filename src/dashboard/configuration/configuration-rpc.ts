/** A merchant's configuration as one message: read, planned, and applied in one transaction. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ApplyConfigurationResponseSchema,
  type ConfigurationService,
  type ConnectionChoice,
  GetConfigurationResponseSchema,
  PlanConfigurationResponseSchema,
} from "../../../gen/dashboard/v1/configuration_pb.ts";
import type { Environment } from "../../../gen/dashboard/v1/environment_pb.ts";
import { RepeatedOrders } from "../../../gen/dashboard/v1/settings_pb.ts";
import { recordAlertAddresses } from "../../accounts/alert-addresses.ts";
import { fillOrders } from "../../core/orders/repeated-orders.ts";
import { recordMutedTopics } from "../../events/alert-settings.ts";
import { removeEndpoint, updateEndpoint } from "../../events/change-endpoint.ts";
import { registerEndpoint } from "../../events/endpoints.ts";
import { type Connection, setConnectionPaused } from "../../gateways/connections.ts";
import type { Tx } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { encodeId } from "../../platform/ids.ts";
import { recordRefundLimits } from "../../refunds/daily-limit.ts";
import { askToConfirm } from "../confirm-alert-address.ts";
import type { DashboardParts } from "../dashboard-parts.ts";
import { saveRule } from "../routing-rules-rpc.ts";
import { otherEnvironment, type Scope, type ScopedContext, scopedContextOf } from "../rpc-context.ts";
import { requireRevision, revisionOf } from "../settings-revision.ts";
import { saveSettings } from "../settings-rpc.ts";
import { showEndpoint } from "../webhook-messages.ts";
import { configurationMessage, type Held, loadHeld, revisedParts } from "./configuration-message.ts";
import { copyConfiguration } from "./copy-configuration.ts";
import { type Plan, planConfiguration } from "./plan-configuration.ts";

export function createConfigurationService(parts: DashboardParts): ServiceImpl<typeof ConfigurationService> {
  return {
    async getConfiguration(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const held = await loadHeld(environment.database, merchantId);
      const revision = revisionOf(revisedParts(held));
      return create(GetConfigurationResponseSchema, { configuration: configurationMessage(held), revision });
    },

    async planConfiguration({ desired, fromEnvironment, choices }, context) {
      const { merchantId, environment } = scopedContextOf(context);
      if ((desired === undefined) === (fromEnvironment === undefined)) {
        const rule = "Give either the configuration or the environment that it is copied from.";
        throw new DomainError("invalid_field", rule, { field: "desired" });
      }
      const held = await loadHeld(environment.database, merchantId);
      const copy =
        fromEnvironment && (await copyFrom(parts, { fromEnvironment, choices, held, merchantId, environment }));
      const wanted = copy ? copy.desired : desired!;
      const { changes, draft } = planConfiguration({ merchantId, environment, held }, wanted);
      return create(PlanConfigurationResponseSchema, {
        changes: [...changes],
        revision: revisionOf(revisedParts(held)),
        ...(draft && { draft }),
        ...(copy && { desired: wanted, leftOut: [...copy.leftOut], unknownConnections: [...copy.unknown] }),
      });
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
        const plan = planConfiguration({ merchantId, environment, held }, desired!);
        requireOwner(scoped, plan);
        requireAllowed(plan, allowRemovals);
        requireConnected(plan);
        const written = await write(tx, scoped, { held, plan });
        return { plan, ...written, held: await loadHeld(tx, merchantId) };
      });
      const { plan, addedEndpoints, addresses, held } = applied;
      if (plan.changes.length === 0) rpcContext.leaveNoRow();
      // This runs even if nothing differs: an earlier call may have given up while a payment was being written.
      if (desired!.checkout?.repeatedOrders === RepeatedOrders.REFUSE)
        await fillOrders(rpcContext.transactingIn(environment), merchantId);
      const { unconfirmed = [], removals = 0 } = addresses ?? {};
      // A mail that fails is sent again with the next test alert, which says why.
      await Promise.all(
        unconfirmed.map((address) => askToConfirm(parts, environment, { merchantId, address, removals })),
      );
      return create(ApplyConfigurationResponseSchema, {
        changes: [...plan.changes],
        revision: revisionOf(revisedParts(held)),
        addedEndpoints,
      });
    },
  };
}

type Copying = Scope & {
  readonly fromEnvironment: Environment;
  readonly choices: readonly ConnectionChoice[];
  readonly held: Held;
};

async function copyFrom(parts: DashboardParts, { fromEnvironment, choices, held, merchantId, environment }: Copying) {
  const source = await otherEnvironment(parts, fromEnvironment, merchantId);
  if (source.name === environment.name) {
    throw new DomainError("invalid_field", "Copy from the other environment.", { field: "fromEnvironment" });
  }
  return copyConfiguration(await loadHeld(source.database, merchantId), held, choices);
}

const sectionsOfOwners = /^(connections|alerts|refundLimits)\b/;

/** Admits owners and operators, like the single methods of these sections. */
function requireOwner({ rpcContext, merchantId }: ScopedContext, { changes }: Plan): void {
  const [change] = changes.filter(({ path }) => sectionsOfOwners.test(path));
  if (change === undefined || !rpcContext.isMember) return;
  const role = rpcContext.signIn.memberships.find((each) => each.merchantId === merchantId)?.role;
  if (role === "OWNER") return;
  throw new DomainError("role_not_allowed", `Only an owner may change ${change.path}.`);
}

function requireConnected({ connections: { waiting } }: Plan): void {
  const [first] = waiting;
  if (first === undefined) return;
  const rule = `${first}: its credentials have to be verified before. switchyard apply does this, with the credentials of the file.`;
  throw new DomainError("state_conflict", rule, { field: "connections" });
}

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
  for (const { id } of plan.connections.paused) await setPaused(tx, rpcContext, { id, paused: true });
  for (const { id } of plan.connections.resumed) await setPaused(tx, rpcContext, { id, paused: false });
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
  return { addedEndpoints, addresses: await writeOwned(tx, { merchantId, rpcContext }, { held, plan }) };
}

type Writing = Pick<ScopedContext, "merchantId" | "rpcContext">;

async function setPaused(
  tx: Tx,
  rpcContext: Writing["rpcContext"],
  { id, paused }: Pick<Connection, "id" | "paused">,
): Promise<void> {
  await setConnectionPaused(tx, id, paused);
  await rpcContext.audit(tx, { subject: encodeId("gc", id), before: { paused: !paused }, after: { paused } });
}

/** Writes alerts and limits. Returns the addresses if they changed. */
async function writeOwned(
  tx: Tx,
  { merchantId, rpcContext }: Writing,
  { held, plan: { alerts, limits: planned } }: { readonly held: Held; readonly plan: Plan },
) {
  const merchant = encodeId("mer", merchantId);
  const { addresses, mutedTopics } = alerts;
  if (mutedTopics) {
    await recordMutedTopics(tx, merchantId, mutedTopics);
    const before = { topics: held.alerts.mutedTopics };
    await rpcContext.audit(tx, { subject: `${merchant}/muted-alerts`, before, after: { topics: mutedTopics } });
  }
  if (planned.limits) {
    await recordRefundLimits(tx, merchantId, planned.limits);
    await rpcContext.audit(tx, { subject: `${merchant}/refund-limits`, before: held.limits, after: planned.limits });
  }
  if (addresses === undefined) return undefined;
  const before = { addresses: held.alerts.addresses };
  await rpcContext.audit(tx, { subject: `${merchant}/alert-addresses`, before, after: { addresses } });
  return recordAlertAddresses(tx, merchantId, addresses);
}
