/** New credentials of an account: tried first, and put in the place of the old ones only when they work. */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Form } from "react-aria-components";
import {
  type GatewayConnection,
  GatewayConnectionService,
} from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import type { Gateway } from "../../../../gen/dashboard/v1/gateways_pb.ts";
import { Button } from "../parts/button.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { useProof } from "../parts/prove.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { useScope } from "../scope.ts";
import { CredentialFields, type Entered, isWellFormed } from "./credential-fields.tsx";
import { testCall, VerificationRows } from "./verification-rows.tsx";

type RotateProps = { connection: GatewayConnection; gateway: Gateway; onChange: () => unknown; onEnd: () => void };

/** A form, and what the gateway said of what was entered. */
export function RotateCredentials({ connection, gateway, onChange, onEnd }: RotateProps) {
  const { merchantId, environment } = useScope();
  const client = createClient(GatewayConnectionService, useTransport());
  const { run, dialog } = useProof();
  const { connectionId } = connection;
  const [credentials, setCredentials] = useState<Entered>({});
  const rotate = useMutation({
    mutationFn: () => {
      const request = { merchantId, environment, connectionId, credentials: { ...credentials } };
      return run(() => client.rotateGatewayCredentials(request, testCall));
    },
    onSuccess: onChange,
  });
  if (rotate.data?.verified) {
    return (
      <div className="form">
        <VerificationRows answer={rotate.data} />
        <div>
          <Button onPress={onEnd}>Done</Button>
        </div>
      </div>
    );
  }
  return (
    <Form
      className="form"
      autoComplete="off"
      aria-label={`New credentials of ${nameOfGateway(gateway.gateway)}, ${connection.account}`}
      onSubmit={(event) => {
        event.preventDefault();
        rotate.mutate();
      }}
    >
      <h3>New credentials</h3>
      <p className="soft">
        Of the same account. They are tried by a live test call first; if they do not work, the ones in use stay.
        Payments under way end with what they began with.
      </p>
      <CredentialFields fields={gateway.credentialFields} entered={credentials} onEnter={setCredentials} />
      <Refusal error={rotate.error} />
      {rotate.data && <VerificationRows answer={rotate.data} />}
      <div className="row">
        <Button
          kind="main"
          type="submit"
          isPending={rotate.isPending}
          isDisabled={!isWellFormed(gateway.credentialFields, credentials)}
        >
          Try and replace
        </Button>
        <Button onPress={onEnd}>Cancel</Button>
      </div>
      {dialog}
    </Form>
  );
}
