/** A merchant's webhook endpoints in one environment. */

import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { WebhookEndpointService } from "../../../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Button } from "../parts/button.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { useScope } from "../scope.ts";
import { AddEndpoint } from "./webhook-add.tsx";
import { EndpointCard } from "./webhook-endpoint.tsx";
import { liveEveryMs, WebhookTabs } from "./webhook-tabs.tsx";

export function WebhooksPage() {
  const { merchantId, environment, environmentName, role } = useScope();
  const { data, error, refetch } = useQuery(
    WebhookEndpointService.method.listWebhookEndpoints,
    { merchantId, environment },
    { refetchInterval: liveEveryMs },
  );
  const [adding, setAdding] = useState<string>();
  const isAdding = adding === environmentName;
  return (
    <>
      <WebhookTabs>
        {includesRole(role, Role.DEVELOPER) && data && !isAdding && (
          <Button kind="main" onPress={() => setAdding(environmentName)}>
            Register an endpoint
          </Button>
        )}
      </WebhookTabs>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The list of endpoints" />}
      {isAdding && <AddEndpoint onAdded={refetch} onEnd={() => setAdding(undefined)} />}
      {data?.endpoints.length === 0 && !isAdding && (
        <Empty title={`No endpoint in ${environmentName} yet`}>
          <p>
            {includesRole(role, Role.DEVELOPER)
              ? "Register the URL of your server to receive the outcome of every payment."
              : "A developer of your team registers the URL that events are posted to."}
          </p>
        </Empty>
      )}
      {data?.endpoints.map((endpoint) => (
        <EndpointCard key={endpoint.endpointId} endpoint={endpoint} onChange={refetch} />
      ))}
    </>
  );
}
