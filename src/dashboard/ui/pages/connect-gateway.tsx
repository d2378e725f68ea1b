/** Connects an account: what its gateway asks for, then the live test call. */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Form } from "react-aria-components";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import type { Gateway, ListGatewaysResponse } from "../../../../gen/dashboard/v1/gateways_pb.ts";
import { Button } from "../parts/button.tsx";
import { Field } from "../parts/field.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { useProof } from "../parts/prove.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { useScope } from "../scope.ts";
import { ConnectedGateway } from "./connected-gateway.tsx";
import { CredentialFields, type Entered, isWellFormed } from "./credential-fields.tsx";

type ConnectProps = { offered: ListGatewaysResponse; onChange: () => unknown; onEnd: () => void };

/** A form, and after it what is left to be done. */
export function ConnectGateway({ offered, onChange, onEnd }: ConnectProps) {
  const { merchantId, environment } = useScope();
  const client = createClient(GatewayConnectionService, useTransport());
  const { run, dialog } = useProof();
  const [chosen, setChosen] = useState(offered.gateways[0]?.gateway ?? "");
  const gateway = offered.gateways.find((each) => each.gateway === chosen);
  const add = useMutation({
    mutationFn: (entered: { account: string; credentials: Entered }) => {
      const { account, credentials } = entered;
      const request = { merchantId, environment, gateway: chosen, account, credentials: { ...credentials } };
      return run(() => client.addGatewayConnection(request));
    },
    onSuccess: onChange,
  });
  const connectionId = add.data?.connection?.connectionId;
  if (connectionId !== undefined && gateway !== undefined) {
    const notificationUrl = offered.notificationUrlPrefix + connectionId;
    return <ConnectedGateway {...{ gateway, connectionId, notificationUrl, onChange, onEnd }} />;
  }
  return (
    <section className="card" aria-labelledby="connect">
      <h2 id="connect">Connect a gateway</h2>
      <GatewayChoice gateways={offered.gateways} chosen={chosen} onChoose={setChosen} />
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
      {dialog}
    </section>
  );
}

type ChoiceProps = { gateways: readonly Gateway[]; chosen: string; onChoose: (gateway: string) => void };

function GatewayChoice({ gateways, chosen, onChoose }: ChoiceProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>Gateway</label>
      <select id={id} value={chosen} onChange={(event) => onChoose(event.target.value)}>
        {gateways.map(({ gateway }) => (
          <option key={gateway} value={gateway}>
            {nameOfGateway(gateway)}
          </option>
        ))}
      </select>
    </div>
  );
}

type FormProps = {
  gateway: Gateway;
  error: unknown;
  isPending: boolean;
  onSubmit: (entered: { account: string; credentials: Entered }) => void;
  onEnd: () => void;
};

function AccountForm({ gateway, error, isPending, onSubmit, onEnd }: FormProps) {
  const { environmentName } = useScope();
  const [credentials, setCredentials] = useState<Entered>({});
  const { credentialFields: fields, becauseUnusable } = gateway;
  return (
    <Form
      className="form"
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit({ account: String(new FormData(event.currentTarget).get("account")), credentials });
      }}
    >
      {becauseUnusable !== undefined && (
        <p className="banner" data-tone="bad">
          Payments cannot be routed to it here: {becauseUnusable}
        </p>
      )}
      <Field
        label="What you call the account"
        name="account"
        isRequired
        maxLength={100}
        hint={`Such as “main” or “${environmentName} EU”. It tells accounts at one gateway apart.`}
      />
      <CredentialFields fields={fields} entered={credentials} onEnter={setCredentials} />
      <Refusal error={error} />
      <div className="row">
        <Button kind="main" type="submit" isPending={isPending} isDisabled={!isWellFormed(fields, credentials)}>
          Connect
        </Button>
        <Button onPress={onEnd}>Cancel</Button>
      </div>
    </Form>
  );
}
