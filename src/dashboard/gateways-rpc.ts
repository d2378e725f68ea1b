/** Available gateways and the health of a merchant's accounts: proto ↔ gateways and core. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type GatewayService,
  ListGatewayHealthResponseSchema,
  ListGatewaysResponseSchema,
} from "../../gen/dashboard/v1/gateways_pb.ts";
import { type Forwarding, whyNotForwardable } from "../card-vault/card-vault.ts";
import { type AuthenticationProvider, providers } from "../gateways/authentication-provider.ts";
import { type Connector, gateways } from "../gateways/connector.ts";
import { credentialsOfEmulator, type EmulatorOrigins } from "../gateways/gateway-origins.ts";
import { encodeId } from "../platform/ids.ts";
import { loadConnectionAlerts } from "../reporting/alerts.ts";
import { loadConnectionHealth } from "../reporting/gateway-health.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { scopedContextOf } from "./rpc-context.ts";

// Period of a gateway's current health.
const healthWindowMs = 60 * 60_000;

/** The rpcs that list the gateways an account can be connected at, and the health of the connected ones. */
export function createGatewayService({
  apiOrigin,
  emulatorOrigins,
  runtime,
}: Pick<DashboardParts, "apiOrigin" | "emulatorOrigins" | "runtime">): ServiceImpl<typeof GatewayService> {
  return {
    async listGateways(_request, context) {
      const { core, name } = scopedContextOf(context).environment;
      const connectors = gateways.flatMap((gateway) => core.connectorOf(gateway) ?? []);
      return create(ListGatewaysResponseSchema, {
        gateways: [...connectors, ...providers.flatMap((name) => core.providerOf(name) ?? [])].map((connector) =>
          gatewayMessage(connector, {
            forwarding: core.vault.forwarding,
            emulatorAccepts: isEmulated(emulatorOrigins[name], connector.gateway)
              ? credentialsOfEmulator(connector.gateway, name)
              : undefined,
          }),
        ),
        notificationUrlPrefix: `${apiOrigin}/gateway-notifications/${name}/`,
      });
    },

    async listGatewayHealth(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const since = new Date(runtime.now().getTime() - healthWindowMs);
      const [rows, alerts] = await Promise.all([
        loadConnectionHealth(environment.database, { merchantId, since }),
        loadConnectionAlerts(environment.database, merchantId),
      ]);
      return create(ListGatewayHealthResponseSchema, {
        connections: rows.map(({ connectionId, lastAskedAt, ...figures }) => ({
          ...figures,
          connectionId: encodeId("gc", connectionId),
          lastAskedAt: timestampFromDate(lastAskedAt),
        })),
        since: timestampFromDate(since),
        alerts: alerts.map((alert) => ({
          connectionId: encodeId("gc", alert.connectionId),
          text: alert.detail,
          since: timestampFromDate(alert.since),
        })),
      });
    },
  };
}

function isEmulated(emulators: EmulatorOrigins, gateway: string): boolean {
  return Object.hasOwn(emulators, gateway);
}

function gatewayMessage(
  connector: Connector | AuthenticationProvider,
  { forwarding, emulatorAccepts }: { forwarding: Forwarding; emulatorAccepts: string | undefined },
) {
  const becauseUnusable = whyNotForwardable(forwarding, connector);
  return {
    gateway: connector.gateway,
    credentialFields: connector.credentialFields.map(({ shape, ...field }) => ({ ...field, pattern: shape.source })),
    sendsNotifications: "readNotification" in connector && connector.readNotification !== undefined,
    isProvider: "prepare" in connector,
    importsProof: "importsProof" in connector && connector.importsProof === true,
    ...(becauseUnusable !== undefined && { becauseUnusable }),
    ...(emulatorAccepts !== undefined && { emulatorAccepts }),
  };
}
