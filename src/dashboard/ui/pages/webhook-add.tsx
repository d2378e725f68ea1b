/** Registers an endpoint: its URL and events, then its signing secret, shown once. */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { WebhookEndpointService } from "../../../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { Button } from "../parts/button.tsx";
import { DataForm, Field } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { ShownSecret } from "../parts/secret.tsx";
import { useScope } from "../scope.ts";
import { EventTypeFields, eventTypesOf } from "./event-fields.tsx";

export function AddEndpoint({ onAdded, onEnd }: { onAdded: () => unknown; onEnd: () => void }) {
  const { merchantId, environment, environmentName } = useScope();
  const client = createClient(WebhookEndpointService, useTransport());
  const add = useMutation({
    mutationFn: (form: FormData) => {
      const wanted = { url: String(form.get("url")), eventTypes: eventTypesOf(form) };
      return client.addWebhookEndpoint({ merchantId, environment, ...wanted });
    },
    onSuccess: onAdded,
  });
  if (add.data) {
    return (
      <section className="card" aria-labelledby="added">
        <h2 id="added">The endpoint is registered</h2>
        <p>
          Add the signing secret to your server, then send the test event. When your server answers it with a 2xx
          status, events are posted, including those since the registration.
        </p>
        <ShownSecret label="Signing secret" secret={add.data.signingSecret} />
        <div>
          <Button onPress={onEnd}>I have stored it</Button>
        </div>
      </section>
    );
  }
  return (
    <section className="card" aria-labelledby="add">
      <h2 id="add">Register an endpoint</h2>
      <DataForm onData={add.mutate}>
        <Field
          label="URL"
          name="url"
          type="url"
          isRequired
          autoFocus
          maxLength={2048}
          hint={
            environmentName === "live"
              ? "https only, reachable from the internet."
              : "Such as https://shop.example.com/webhooks."
          }
        />
        <EventTypeFields chosen={[]} />
        <Refusal error={add.error} />
        <div className="row">
          <Button kind="main" type="submit" isPending={add.isPending}>
            Register
          </Button>
          <Button onPress={onEnd}>Cancel</Button>
        </div>
      </DataForm>
    </section>
  );
}
