/** Resends the events that an endpoint has not received since a time: a call for each two thousand, with progress. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { WebhookDeliveryService } from "../../../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import { Button } from "../parts/button.tsx";
import { DataForm } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { useScope } from "../scope.ts";

type RecoverProps = { endpointId: string; since?: Date; expected?: number };

/** The form. `since` and `expected` are known after an endpoint was enabled; otherwise the person enters the time. */
export function Recover({ endpointId, since, expected }: RecoverProps) {
  const { merchantId, environment } = useScope();
  const client = createClient(WebhookDeliveryService, useTransport());
  const [done, setDone] = useState(0);
  const isStopped = useRef(false);
  const recover = useMutation({
    mutationFn: async (from: Date) => {
      isStopped.current = false;
      setDone(0);
      for (let afterEventId = ""; ; ) {
        const request = { merchantId, environment, endpointId, since: timestampFromDate(from), afterEventId };
        const { due, nextAfterEventId } = await client.recoverWebhookDeliveries(request);
        setDone((before) => before + due);
        afterEventId = nextAfterEventId;
        if (afterEventId === "" || isStopped.current) return;
      }
    },
  });
  const id = `since-${endpointId}${since ? "-known" : ""}`;
  return (
    <DataForm
      className="form recover"
      onData={(fields) => recover.mutate(since ?? new Date(String(fields.get("since") ?? "")))}
    >
      <h3>Resend missed events</h3>
      {since ? (
        <p className="soft small">
          {expected} {expected === 1 ? "event was" : "events were"} not delivered while it was disabled.
        </p>
      ) : (
        <div className="field">
          <label htmlFor={id}>Events since</label>
          <input id={id} name="since" type="datetime-local" required />
          <span className="hint">Only events without a 2xx response are sent again, with the same ids.</span>
        </div>
      )}
      <Refusal error={recover.error} />
      {recover.isPending && (
        <progress aria-label="Resending" max={expected} value={expected && Math.min(done, expected)} />
      )}
      <p className="small" role="status">
        {(recover.isPending || recover.isSuccess) && `${done} queued${recover.isPending ? " so far" : ""}.`}
      </p>
      <div className="row">
        <Button type="submit" isPending={recover.isPending}>
          Send again
        </Button>
        {recover.isPending && (
          <Button
            onPress={() => {
              isStopped.current = true;
            }}
          >
            Stop
          </Button>
        )}
      </div>
    </DataForm>
  );
}
