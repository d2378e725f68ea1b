/** An account at a gateway: its state, its last hour and its actions. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  type GatewayConnection,
  GatewayConnectionService,
} from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import type { GatewayAlert, GatewayHealth, ListGatewaysResponse } from "../../../../gen/dashboard/v1/gateways_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Badge } from "../parts/badge.tsx";
import { Gateway } from "../parts/brand.tsx";
import { Button } from "../parts/button.tsx";
import { nameOfBrand } from "../parts/card-brand.ts";
import { Confirm } from "../parts/confirm.tsx";
import { CopiedText, visible } from "../parts/copied-text.tsx";
import { CopyLine } from "../parts/copy-line.tsx";
import { nameGatewaysIn, nameOfGateway } from "../parts/gateway-name.ts";
import { Refusal } from "../parts/refusal.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { ConnectionHealth } from "./connection-health.tsx";
import { RotateCredentials } from "./rotate-credentials.tsx";
import { VerificationRows, verificationCall } from "./verification-rows.tsx";
import { VerifyConnection } from "./verify-connection.tsx";

type CardProps = {
  connection: GatewayConnection;
  offered: ListGatewaysResponse;
  health: GatewayHealth | undefined;
  alerts: readonly GatewayAlert[];
  isHealthKnown: boolean;
  onChange: () => unknown;
};

export function ConnectionCard({ connection, offered, health, alerts, isHealthKnown, onChange }: CardProps) {
  const { merchantId, environment, role } = useScope();
  const { connectionId, gateway: name, verified, paused } = connection;
  const gateway = offered.gateways.find((each) => each.gateway === name);
  const client = useClient(GatewayConnectionService);
  const [isRotating, setRotating] = useState(false);
  const of = { merchantId, environment, connectionId };
  const verify = useMutation({
    mutationFn: (routePayments: boolean | undefined) =>
      client.verifyGatewayConnection(
        { ...of, ...(routePayments !== undefined && { routePayments }) },
        verificationCall,
      ),
    onSuccess: onChange,
  });
  const pause = useMutation({
    mutationFn: async () => {
      await (paused ? client.resumeGatewayConnection(of) : client.pauseGatewayConnection(of));
    },
    onSuccess: onChange,
    meta: { done: `${nameOfGateway(name)} is ${paused ? "resumed" : "paused"}.` },
  });
  return (
    <section className="card" aria-labelledby={connectionId}>
      <div className="page-head">
        <CardTitle connection={connection} />
        <div className="row">
          {includesRole(role, Role.DEVELOPER) && verified && <PauseButton connection={connection} pause={pause} />}
          {includesRole(role, Role.OWNER) && (
            <>
              {!verified && (
                <VerifyConnection
                  label="Verify"
                  isProvider={connection.isProvider}
                  isPending={verify.isPending}
                  onVerify={verify.mutate}
                />
              )}
              {verified && !isRotating && gateway && (
                <Button onPress={() => setRotating(true)}>Change credentials</Button>
              )}
            </>
          )}
        </div>
      </div>
      <Refusal error={verify.error ?? pause.error} />
      {gateway?.becauseUnusable !== undefined && <p className="banner">{gateway.becauseUnusable}</p>}
      {alerts.map(({ text, since }) => (
        <p className="banner" data-tone="bad" key={text}>
          <bdi>{visible(nameGatewaysIn(text))}</bdi>{" "}
          <span className="small">
            Since <Moment at={since} />.
          </span>
        </p>
      ))}
      {verify.data && <VerificationRows answer={verify.data} />}
      {isRotating && gateway && (
        <RotateCredentials
          connection={connection}
          gateway={gateway}
          onChange={onChange}
          onEnd={() => setRotating(false)}
        />
      )}
      {isHealthKnown && !connection.isProvider && <ConnectionHealth health={health} />}
      {gateway?.importsProof && <Acquirer connection={connection} />}
      {gateway?.sendsNotifications && (
        <CopyLine
          label="Notification address"
          text={offered.notificationUrlPrefix + connectionId}
          hint={`${nameOfGateway(name)} sends its notifications to this address. Enter it in the gateway’s own settings.`}
        />
      )}
    </section>
  );
}

/** The data that a provider of authentication needs. They are set by a command, because acquirers give them as a list. */
function Acquirer({ connection: { connectionId, acquirer } }: { connection: GatewayConnection }) {
  return acquirer ? (
    <p className="small">
      Your acquirer’s data for 3-D Secure: merchant {acquirer.merchantName}, for{" "}
      {acquirer.networks.map(({ network }) => nameOfBrand(network)).join(", ")}
      {acquirer.acceptsOwnOnly && "; it accepts only an authentication with its own data"}.
    </p>
  ) : (
    <p className="soft small">
      Without data of its acquirer, no provider can authenticate for this account:{" "}
      <code>switchyard rpc GatewayConnectionService/SetAcquirerData</code> for {connectionId}
    </p>
  );
}

function CardTitle({ connection }: { connection: GatewayConnection }) {
  const { connectionId, gateway, account } = connection;
  return (
    <div>
      <h2 id={connectionId}>
        <Gateway gateway={gateway} /> <bdi className="soft">{account}</bdi>
      </h2>
      <div className="row">
        <State connection={connection} />
        <span className="soft small">
          <CopiedText label={`the id of ${nameOfGateway(gateway)} ${account}`} text={connectionId} />
        </span>
      </div>
    </div>
  );
}

function State({ connection: { verified, paused } }: { connection: GatewayConnection }) {
  if (!verified) {
    return <Badge tone="bad">Not verified</Badge>;
  }
  return <Badge tone={paused ? "warn" : "good"}>{paused ? "Paused" : "Ready"}</Badge>;
}

type PauseProps = { connection: GatewayConnection; pause: { mutate: () => void; isPending: boolean } };

function PauseButton({ connection: { gateway, paused }, pause }: PauseProps) {
  if (paused) {
    return <Button runs={pause}>Resume</Button>;
  }
  return (
    <Confirm action="Pause" title={`Pause ${nameOfGateway(gateway)}?`} runs={pause} isDanger={false}>
      New payments skip this account. Its holds are still captured or voided, and it stays verified.
    </Confirm>
  );
}
