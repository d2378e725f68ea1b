/** The less frequent actions on an endpoint: changing its URL and events, rotating its secret, recovery and removal. */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import {
  WebhookEndpoint_Status as Status,
  type WebhookEndpoint,
  WebhookEndpointService,
} from "../../../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { DataForm, Field, SelectField } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { ShownSecret } from "../parts/secret.tsx";
import { useScope } from "../scope.ts";
import { EventTypeFields, eventTypesOf } from "./event-fields.tsx";
import { Recover } from "./webhook-recover.tsx";

type ChangeProps = { endpoint: WebhookEndpoint; onChange: () => unknown };

export function EndpointChanges({ endpoint, onChange }: ChangeProps) {
  return (
    <details className="changes-of">
      <summary>Change this endpoint</summary>
      <div className="stack">
        <EditForm key={endpoint.version} endpoint={endpoint} onChange={onChange} />
        <NewSecret endpoint={endpoint} onChange={onChange} />
        <Recover endpointId={endpoint.endpointId} />
        <End endpoint={endpoint} onChange={onChange} />
      </div>
    </details>
  );
}

function useEndpoint({ endpointId, version }: WebhookEndpoint) {
  const { merchantId, environment } = useScope();
  const client = createClient(WebhookEndpointService, useTransport());
  return { client, of: { merchantId, environment, endpointId, version } };
}

function EditForm({ endpoint, onChange }: ChangeProps) {
  const { client, of } = useEndpoint(endpoint);
  const update = useMutation({
    mutationFn: (form: FormData) => {
      const url = String(form.get("url"));
      const wanted = {
        ...of,
        // An unchanged URL is left out: it would have to be verified again.
        ...(url !== endpoint.url && { url }),
        eventTypes: { types: eventTypesOf(form) },
      };
      return client.updateWebhookEndpoint(wanted);
    },
    onSuccess: onChange,
    meta: { done: "The endpoint is saved." },
  });
  return (
    <DataForm aria-label={`URL and events of ${endpoint.url}`} onData={update.mutate}>
      <Field
        label="URL"
        name="url"
        type="url"
        isRequired
        maxLength={2048}
        defaultValue={endpoint.url}
        hint="A new URL must be verified before events are posted to it."
      />
      <EventTypeFields chosen={endpoint.eventTypes} />
      <Refusal error={update.error} />
      <div>
        <Button type="submit" isPending={update.isPending}>
          Save
        </Button>
      </div>
    </DataForm>
  );
}

const overlaps = [
  [0, "at once"],
  [1, "after an hour"],
  [4, "after 4 hours"],
  [24, "after a day"],
] as const;

function NewSecret({ endpoint, onChange }: ChangeProps) {
  const { client, of } = useEndpoint(endpoint);
  const rotate = useMutation({
    mutationFn: (overlapHours: number) => client.rotateWebhookSecret({ ...of, overlapHours }),
    onSuccess: onChange,
  });
  return (
    <DataForm
      aria-label={`Signing secret of ${endpoint.url}`}
      onData={(fields) => rotate.mutate(Number(fields.get("overlapHours")))}
    >
      <h3>Signing secret</h3>
      <SelectField
        label="The old secret stops"
        name="overlapHours"
        defaultValue={0}
        values={overlaps}
        hint="Until then, webhooks are signed with both secrets."
      />
      <Refusal error={rotate.error} />
      {rotate.data && <ShownSecret label="The new signing secret" secret={rotate.data.signingSecret} />}
      <div>
        <Button type="submit" kind="danger" isPending={rotate.isPending}>
          Create a new secret
        </Button>
      </div>
    </DataForm>
  );
}

function End({ endpoint, onChange }: ChangeProps) {
  const { client, of } = useEndpoint(endpoint);
  const disable = useMutation({
    mutationFn: () => client.disableWebhookEndpoint(of),
    onSuccess: onChange,
    meta: { done: "The endpoint is disabled." },
  });
  const remove = useMutation({
    mutationFn: () => client.removeWebhookEndpoint(of),
    onSuccess: onChange,
    meta: { done: "The endpoint is removed." },
  });
  return (
    <div className="form">
      <Refusal error={disable.error ?? remove.error} />
      <div className="row">
        {endpoint.status !== Status.DISABLED && (
          <Confirm
            action="Disable"
            title="Disable this endpoint?"
            onConfirm={() => disable.mutate()}
            isPending={disable.isPending}
          >
            Events that occur while it is disabled are not sent, unless you resend them after you enable it. To queue
            events instead, pause the endpoint.
          </Confirm>
        )}
        <Confirm
          action="Remove"
          title="Remove this endpoint permanently?"
          onConfirm={() => remove.mutate()}
          isPending={remove.isPending}
        >
          No more events are posted to it, and its signing secret is deleted. Its delivery log is kept.
        </Confirm>
      </div>
    </div>
  );
}
