/** Connects an account: the gateway's credentials, then the call that verifies them. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import type { Gateway, ListGatewaysResponse } from "../../../../gen/dashboard/v1/gateways_pb.ts";
import { Button } from "../parts/button.tsx";
import { DataForm, Field, SelectField } from "../parts/field.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { Refusal } from "../parts/refusal.tsx";
import { useFieldProblems } from "../rpc.ts";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { ConnectedGateway } from "./connected-gateway.tsx";
import { CredentialFields, credentialsOf } from "./credential-fields.tsx";

type ConnectProps = { offered: ListGatewaysResponse; onChange: () => unknown; onEnd: () => void };

export function ConnectGateway({ offered, onChange, onEnd }: ConnectProps) {
  const { merchantId, environment } = useScope();
  const client = useClient(GatewayConnectionService);
  const [chosen, setChosen] = useState(offered.gateways[0]?.gateway ?? "");
  const gateway = offered.gateways.find((each) => each.gateway === chosen);
  const add = useMutation({
    mutationFn: (form: FormData) => {
      const entered = { account: String(form.get("account")), credentials: credentialsOf(form) };
      return client.addGatewayConnection({ merchantId, environment, gateway: chosen, ...entered });
    },
    onSuccess: onChange,
  });
  const connectionId = add.data?.connection?.connectionId;
  if (connectionId !== undefined && gateway !== undefined) {
    const notificationUrl = offered.notificationUrlPrefix + connectionId;
    return (
      <ConnectedGateway
        gateway={gateway}
        connectionId={connectionId}
        notificationUrl={notificationUrl}
        onChange={onChange}
        onEnd={onEnd}
      />
    );
  }
  return (
    <section className="card" aria-labelledby="connect">
      <h2 id="connect">Connect a gateway</h2>
      <SelectField
        label="Gateway"
        value={chosen}
        onChange={({ target }) => setChosen(target.value)}
        values={offered.gateways.map(({ gateway: name }) => [name, nameOfGateway(name)] as const)}
      />
      {gateway && (
        <AccountForm
          key={chosen}
          gateway={gateway}
          error={add.error}
          isPending={add.isPending}
          onSubmit={add.mutate}
          onEnd={onEnd}
        />
      )}
    </section>
  );
}

type FormProps = {
  gateway: Gateway;
  error: unknown;
  isPending: boolean;
  onSubmit: (form: FormData) => void;
  onEnd: () => void;
};

function AccountForm({ gateway, error, isPending, onSubmit, onEnd }: FormProps) {
  const { environmentName } = useScope();
  const { credentialFields, becauseUnusable, emulatorAccepts } = gateway;
  const fieldProblems = useFieldProblems(error);
  return (
    <DataForm autoComplete="off" validationErrors={fieldProblems} onData={onSubmit}>
      {becauseUnusable !== undefined && (
        <p className="banner" data-tone="bad">
          This installation cannot route payments to it: {becauseUnusable}
        </p>
      )}
      {emulatorAccepts !== undefined && <p className="banner">{emulatorAccepts}</p>}
      <Field
        label="Account name"
        name="account"
        isRequired
        maxLength={100}
        hint={`Such as “main” or “${environmentName} EU”. It distinguishes your accounts at one gateway.`}
      />
      <CredentialFields fields={credentialFields} />
      <Refusal error={error} />
      <div className="row">
        <Button kind="main" type="submit" isPending={isPending}>
          Connect
        </Button>
        <Button onPress={onEnd}>Cancel</Button>
      </div>
    </DataForm>
  );
}
