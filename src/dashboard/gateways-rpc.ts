/** Which gateways there are and how a merchant's accounts there are doing: proto ↔ gateways and core. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type GatewayService,
  ListGatewayHealthResponseSchema,
  ListGatewaysResponseSchema,
} from "../../gen/dashboard/v1/gateways_pb.ts";
import { loadConnectionHealth } from "../core/gateway-health.ts";
import { type Forwarding, whyNotForwardable } from "../gateways/card-vault.ts";
import { type Connector, gateways } from "../gateways/connector.ts";
import { healthWindowMs } from "../limits/routing.ts";
import { encodeId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { scopedVisitOf } from "./visit.ts";

/** The rpcs that tell which gateways an account can be connected at, and how the connected ones are doing. */
export function createGatewayService({
  apiOrigin,
  entropy,
}: Pick<DashboardParts, "apiOrigin" | "entropy">): ServiceImpl<typeof GatewayService> {
  return {
    async listGateways(_request, context) {
      const { core, name } = scopedVisitOf(context).environment;
      const connectors = gateways.flatMap((gateway) => core.connectorOf(gateway) ?? []);
      return create(ListGatewaysResponseSchema, {
        gateways: connectors.map((connector) => gatewayMessage(connector, core.vault.forwarding)),
        notificationUrlPrefix: `${apiOrigin}/gateway-notifications/${name}/`,
      });
    },

    async listGatewayHealth(_request, context) {
      const { merchantId, environment } = scopedVisitOf(context);
      const since = new Date(entropy.now().getTime() - healthWindowMs);
      const rows = await loadConnectionHealth(environment.database, { merchantId, since });
      return create(ListGatewayHealthResponseSchema, {
        connections: rows.map(({ connectionId, lastAskedAt, ...figures }) => ({
          ...figures,
          connectionId: encodeId("gc", connectionId),
          lastAskedAt: timestampFromDate(lastAskedAt),
        })),
        since: timestampFromDate(since),
      });
    },
  };
}

function gatewayMessage(connector: Connector, forwarding: Forwarding) {
  const becauseUnusable = whyNotForwardable(forwarding, connector);
  return {
    gateway: connector.gateway,
    credentialFields: connector.credentialFields.map(({ shape, ...field }) => ({ ...field, pattern: shape.source })),
    sendsNotices: connector.readNotification !== undefined,
    ...(becauseUnusable !== undefined && { becauseUnusable }),
  };
}
