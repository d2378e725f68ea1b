/** A newly connected account: the remaining steps at its gateway, and the call that verifies it. */
import { useMutation } from "@tanstack/react-query";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import type { Gateway } from "../../../../gen/dashboard/v1/gateways_pb.ts";
import { Button } from "../parts/button.tsx";
import { CopyLine } from "../parts/copy-line.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { Refusal } from "../parts/refusal.tsx";
import { ScopeLink, useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { VerificationRows, verificationCall } from "./verification-rows.tsx";
import { VerifyConnection } from "./verify-connection.tsx";

type ConnectedProps = {
  gateway: Gateway;
  connectionId: string;
  notificationUrl: string;
  onChange: () => unknown;
  onEnd: () => void;
};

export function ConnectedGateway({ gateway, connectionId, notificationUrl, onChange, onEnd }: ConnectedProps) {
  const { merchantId, environment } = useScope();
  const client = useClient(GatewayConnectionService);
  const verify = useMutation({
    mutationFn: (routePayments: boolean | undefined) =>
      client.verifyGatewayConnection(
        { merchantId, environment, connectionId, ...(routePayments !== undefined && { routePayments }) },
        verificationCall,
      ),
    onSuccess: onChange,
  });
  const name = nameOfGateway(gateway.gateway);
  const isVerified = verify.data?.verified === true;
  return (
    <section className="card" aria-labelledby="connected">
      <h2 id="connected">{name} is connected</h2>
      {gateway.sendsNotifications && (
        <CopyLine
          label="Notification address"
          text={notificationUrl}
          hint={`Enter it in the notification settings of ${name} before you verify.`}
        />
      )}
      {!verify.data && (
        <p>
          Payments can be routed to it once a real call to the gateway in this environment, which captures nothing, has
          verified its credentials.
        </p>
      )}
      <Refusal error={verify.error} />
      {verify.data && <VerificationRows answer={verify.data} />}
      <div className="row">
        {!isVerified && (
          <VerifyConnection
            label={verify.data ? "Verify again" : "Verify now"}
            isProvider={gateway.isProvider}
            isPending={verify.isPending}
            onVerify={verify.mutate}
          />
        )}
        <Button onPress={onEnd}>{isVerified ? "Done" : "Later"}</Button>
        {isVerified && <ScopeLink to="./routing">Route payments to it</ScopeLink>}
      </div>
    </section>
  );
}
