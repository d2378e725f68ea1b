/** A merchant's accounts at gateways, with their health and actions. */
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { GatewayService } from "../../../../gen/dashboard/v1/gateways_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Button } from "../parts/button.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { useScope } from "../scope.ts";
import { ConnectGateway } from "./connect-gateway.tsx";
import { ConnectionCard } from "./connection-card.tsx";
import { UnclassifiedCodes } from "./unclassified-codes.tsx";

// Often enough for current figures.
const healthEveryMs = 30_000;

export function GatewaysPage() {
  const { merchantId, environment, environmentName, role } = useScope();
  const scope = { merchantId, environment };
  const connections = useQuery(GatewayConnectionService.method.listGatewayConnections, scope);
  const gateways = useQuery(GatewayService.method.listGateways, scope);
  const health = useQuery(GatewayService.method.listGatewayHealth, scope, { refetchInterval: healthEveryMs });
  const [isConnecting, setConnecting] = useState(false);
  // Input survives a later failure to load.
  const isRead = connections.data !== undefined && gateways.data !== undefined;
  const error = isRead ? null : (connections.error ?? gateways.error);
  const retry = () => Promise.all([connections.refetch(), gateways.refetch()]);
  const { data: offered } = gateways;
  return (
    <>
      <PageHead
        title="Gateways"
        actions={
          includesRole(role, Role.OWNER) &&
          offered &&
          !isConnecting && (
            <Button kind="main" onPress={() => setConnecting(true)}>
              Connect a gateway
            </Button>
          )
        }
      >
        Your accounts at gateways in {environmentName}. Their credentials are sealed when you enter them, and never
        shown again.
      </PageHead>
      {error && <Failure error={error} onRetry={retry} />}
      {!error && !isRead && <Loading what="The list of gateways" />}
      {!error && offered && isConnecting && (
        <ConnectGateway
          key={environmentName}
          offered={offered}
          onChange={() => connections.refetch()}
          onEnd={() => setConnecting(false)}
        />
      )}
      {!error && connections.data?.connections.length === 0 && !isConnecting && (
        <Empty title="No gateway is connected yet">
          <p>
            {includesRole(role, Role.OWNER)
              ? "Connect your account at a gateway. Switchyard verifies it with a real call that captures nothing. Then add it to your routing rule."
              : "An owner connects the accounts that payments are routed to."}
          </p>
        </Empty>
      )}
      {!error &&
        offered &&
        connections.data?.connections.map((connection) => (
          <ConnectionCard
            key={connection.connectionId}
            connection={connection}
            offered={offered}
            health={health.data?.connections.find((each) => each.connectionId === connection.connectionId)}
            alerts={health.data?.alerts.filter((each) => each.connectionId === connection.connectionId) ?? []}
            isHealthKnown={health.data !== undefined}
            onChange={() => Promise.all([connections.refetch(), health.refetch()])}
          />
        ))}
      {!error && <UnclassifiedCodes />}
    </>
  );
}
