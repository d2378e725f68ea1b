/** Connects an account: what its gateway asks for, then the live test call, then what is left to be done there. */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Form } from "react-aria-components";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import type { ListGatewaysResponse } from "../../../../gen/dashboard/v1/gateways_pb.ts";
import { Button } from "../parts/button.tsx";
import { CopyLine } from "../parts/copy-line.tsx";
import { Field } from "../parts/field.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { useProof } from "../parts/prove.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { useScope } from "../scope.ts";
import { CredentialFields, type Entered, isWellFormed } from "./credential-fields.tsx";
import { testCall, VerificationRows } from "./verification-rows.tsx";

type ConnectProps = { offered: ListGatewaysResponse; onChange: () => unknown; onEnd: () => void };

/** A form, and after it what the gateway said. */
export function ConnectGateway({ offered, onChange, onEnd }: ConnectProps) {
  const { merchantId, environment, environmentName } = useScope();
  const client = createClient(GatewayConnectionService, useTransport());
  const { run, dialog } = useProof();
  const [chosen, setChosen] = useState(offered.gateways[0]?.gateway ?? "");
  const gateway = offered.gateways.find((each) => each.gateway === chosen);
  const [credentials, setCredentials] = useState<Entered>({});
  const fields = gateway?.credentialFields ?? [];
  const gatewayId = useId();
  const add = useMutation({
    mutationFn: (form: FormData) =>
      run(() =>
        client.addGatewayConnection({
          merchantId,
          environment,
          gateway: chosen,
          account: String(form.get("account")),
          credentials: { ...credentials },
        }),
      ),
    onSuccess: onChange,
  });
  const connectionId = add.data?.connection?.connectionId;
  const verify = useMutation({
    mutationFn: (id: string) =>
      run(() => client.verifyGatewayConnection({ merchantId, environment, connectionId: id }, testCall)),
    onSuccess: onChange,
  });
  if (connectionId !== undefined) {
    return (
      <section className="card" aria-labelledby="connected">
        <h2 id="connected">{nameOfGateway(chosen)} is connected</h2>
        {gateway?.sendsNotices && (
          <CopyLine
            label="Notification address"
            text={offered.notificationUrlPrefix + connectionId}
            hint={`Enter it at ${nameOfGateway(chosen)}, where its notices are set up, before you verify.`}
          />
        )}
        {!verify.data && <p>Nothing is routed to it before a live test call has shown that its credentials work.</p>}
        <Refusal error={verify.error} />
        {verify.data && <VerificationRows answer={verify.data} />}
        <div className="row">
          {!verify.data?.verified && (
            <Button kind="main" isPending={verify.isPending} onPress={() => verify.mutate(connectionId)}>
              {verify.data ? "Verify again" : "Verify now"}
            </Button>
          )}
          <Button onPress={onEnd}>{verify.data?.verified ? "Done" : "Later"}</Button>
          {verify.data?.verified && (
            <Link to="/$environment/$merchantId/routing" params={{ environment: environmentName, merchantId }}>
              Route payments to it
            </Link>
          )}
        </div>
        {dialog}
      </section>
    );
  }
  return (
    <section className="card" aria-labelledby="connect">
      <h2 id="connect">Connect a gateway</h2>
      <Form
        className="form"
        autoComplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate(new FormData(event.currentTarget));
        }}
      >
        <div className="field">
          <label htmlFor={gatewayId}>Gateway</label>
          <select
            id={gatewayId}
            value={chosen}
            onChange={(event) => {
              setChosen(event.target.value);
              setCredentials({});
            }}
          >
            {offered.gateways.map((each) => (
              <option key={each.gateway} value={each.gateway}>
                {nameOfGateway(each.gateway)}
              </option>
            ))}
          </select>
        </div>
        {gateway?.becauseUnusable !== undefined && (
          <p className="banner" data-tone="bad">
            Payments cannot be routed to it here: {gateway.becauseUnusable}
          </p>
        )}
        <Field
          label="What you call the account"
          name="account"
          isRequired
          maxLength={100}
          hint={`Such as “main” or “${environmentName} EU”. It tells accounts at one gateway apart.`}
        />
        <CredentialFields key={chosen} fields={fields} entered={credentials} onEnter={setCredentials} />
        <Refusal error={add.error} />
        <div className="row">
          <Button kind="main" type="submit" isPending={add.isPending} isDisabled={!isWellFormed(fields, credentials)}>
            Connect
          </Button>
          <Button onPress={onEnd}>Cancel</Button>
        </div>
      </Form>
      {dialog}
    </section>
  );
}
