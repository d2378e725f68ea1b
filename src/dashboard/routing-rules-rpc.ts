/** A merchant's routing rule: proto ↔ core. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  RoutingRule_FailoverSwitch as FailoverMessage,
  GetRoutingRuleResponseSchema,
  type RoutingRuleService,
  SetRoutingRuleResponseSchema,
} from "../../gen/dashboard/v1/routing_rules_pb.ts";
import type { FailoverSwitch, RoutingRule } from "../core/entities.ts";
import { findRoutingRule, recordRoutingRule } from "../core/routing-rules.ts";
import { listConnections } from "../gateways/connections.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { scopedVisitOf } from "./visit.ts";

const switches: readonly FailoverSwitch[] = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"];

/** The rpcs that show and replace a merchant's routing rule. */
export function createRoutingRuleService(): ServiceImpl<typeof RoutingRuleService> {
  return {
    async setRoutingRule(request, context) {
      const { merchantId, visit, change } = scopedVisitOf(context);
      const failoverOn = switches.filter((name) => request.failoverOn.includes(FailoverMessage[name]));
      const rule = await change(async (tx) => {
        const connectionIds = await requireVerified(tx, { merchantId, connectionIds: request.connectionIds });
        const before = await findRoutingRule(tx, merchantId);
        await recordRoutingRule(tx, { merchantId, connectionIds, failoverOn });
        const after = await findRoutingRule(tx, merchantId);
        const subject = `${encodeId("mer", merchantId)}/routing-rule`;
        await visit.audit(tx, { subject, before: before && show(before), after: show(after!) });
        return after!;
      });
      return create(SetRoutingRuleResponseSchema, { routingRule: toMessage(rule) });
    },

    async getRoutingRule(_request, context) {
      const { merchantId, environment } = scopedVisitOf(context);
      const rule = await findRoutingRule(environment.database, merchantId);
      return create(GetRoutingRuleResponseSchema, rule === undefined ? {} : { routingRule: toMessage(rule) });
    },
  };
}

async function requireVerified(
  tx: Tx,
  { merchantId, connectionIds }: { merchantId: string; connectionIds: readonly string[] },
): Promise<string[]> {
  const connections = await listConnections(tx, merchantId);
  return connectionIds.map((publicId) => {
    const connection = connections.find(({ id }) => id === decodeId("gc", publicId));
    if (connection !== undefined && connection.credentialVersion !== null) return connection.id;
    throw new DomainError(
      "invalid_field",
      connection === undefined
        ? "One of the gateway connections does not exist."
        : `The connection to ${connection.gateway} (${connection.account}) was not verified yet.`,
      { field: "connectionIds" },
    );
  });
}

function show({ version, connectionIds, failoverOn }: RoutingRule) {
  return { version, connectionIds: connectionIds.map((id) => encodeId("gc", id)), failoverOn };
}

function toMessage(rule: RoutingRule) {
  return {
    ...show(rule),
    failoverOn: rule.failoverOn.map((name) => FailoverMessage[name]),
    createdAt: timestampFromDate(rule.createdAt),
  };
}
