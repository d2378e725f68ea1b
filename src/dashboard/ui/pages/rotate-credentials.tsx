/** New credentials of an account: verified first, and activated only if they work. */
import { useMutation } from "@tanstack/react-query";
import {
  type GatewayConnection,
  GatewayConnectionService,
} from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import type { Gateway } from "../../../../gen/dashboard/v1/gateways_pb.ts";
import { Button } from "../parts/button.tsx";
import { DataForm } from "../parts/field.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { Refusal } from "../parts/refusal.tsx";
import { useFieldProblems } from "../rpc.ts";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { CredentialFields, credentialsOf } from "./credential-fields.tsx";
import { VerificationRows, verificationCall } from "./verification-rows.tsx";

type RotateProps = { connection: GatewayConnection; gateway: Gateway; onChange: () => unknown; onEnd: () => void };

export function RotateCredentials({ connection, gateway, onChange, onEnd }: RotateProps) {
  const { merchantId, environment } = useScope();
  const client = useClient(GatewayConnectionService);
  const { connectionId } = connection;
  const rotate = useMutation({
    mutationFn: (form: FormData) => {
      const request = { merchantId, environment, connectionId, credentials: credentialsOf(form) };
      return client.rotateGatewayCredentials(request, verificationCall);
    },
    onSuccess: onChange,
  });
  const fieldProblems = useFieldProblems(rotate.error);
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
    <DataForm
      autoComplete="off"
      validationErrors={fieldProblems}
      aria-label={`New credentials of ${nameOfGateway(gateway.gateway)}, ${connection.account}`}
      onData={rotate.mutate}
    >
      <h3>New credentials</h3>
      <p className="soft">
        Enter new credentials of the same account. A real call to the gateway in this environment, which captures
        nothing, checks them first. If a required check fails, the current credentials stay in use. Running payments end
        with the old credentials.
      </p>
      <CredentialFields fields={gateway.credentialFields} />
      <Refusal error={rotate.error} />
      {rotate.data && <VerificationRows answer={rotate.data} />}
      <div className="row">
        <Button kind="main" type="submit" isPending={rotate.isPending}>
          Verify and replace
        </Button>
        <Button onPress={onEnd}>Cancel</Button>
      </div>
    </DataForm>
  );
}
