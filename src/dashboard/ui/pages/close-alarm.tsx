/** Closes an alarm about a payment, with a note of the findings and actions. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Heading } from "react-aria-components/Dialog";
import { HomeService } from "../../../../gen/dashboard/v1/home_pb.ts";
import { ActionDialog } from "../parts/action-dialog.tsx";
import { Button } from "../parts/button.tsx";
import { DataForm } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";

type Closing = {
  readonly workItemId: string;
  /** The payment, or the newest of them. */
  readonly about: string;
  /** The number of payments whose alarms have the same cause. */
  readonly count: number;
};

export function CloseAlarm({ workItemId, about, count }: Closing) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        onPress={() => setOpen(true)}
        aria-label={count > 1 ? `Close the alarms about ${count} payments` : `Close the alarm about ${about}`}
      >
        {count > 1 ? `Close all ${count}` : "Close"}
      </Button>
      <ActionDialog isOpen={isOpen} onClose={() => setOpen(false)}>
        <CloseForm workItemId={workItemId} count={count} onEnd={() => setOpen(false)} />
      </ActionDialog>
    </>
  );
}

function CloseForm({ workItemId, count, onEnd }: Omit<Closing, "about"> & { onEnd: () => void }) {
  const { merchantId, environment } = useScope();
  const client = useClient(HomeService);
  const queries = useQueryClient();
  const noteId = useId();
  const close = useMutation({
    mutationFn: (note: string) =>
      client.closeAlarm({ merchantId, environment, workItemId, note, wholeCause: count > 1 }),
    onSuccess: async () => {
      onEnd();
      await queries.invalidateQueries();
    },
    meta: { done: count > 1 ? "The alarms are closed." : "The alarm is closed." },
  });
  return (
    <>
      <Heading slot="title">{count > 1 ? `Close ${count} alarms?` : "Close the alarm?"}</Heading>
      <p className="soft">
        {count > 1
          ? "All have the same cause. Close them when the matter is settled for every payment. They close for your whole team and for the operator. If the matter lasts, they return a day later."
          : "Close it when the matter is settled. It closes for your whole team and for the operator. If the matter lasts, it returns a day later."}
      </p>
      <DataForm onData={(fields) => close.mutate(String(fields.get("note")).trim())}>
        <div className="field">
          <label htmlFor={noteId}>What you found and did</label>
          <textarea id={noteId} name="note" rows={3} maxLength={1000} required />
          <span className="hint">For the audit trail, such as “refunded at the gateway”.</span>
        </div>
        <Refusal error={close.error} />
        <div className="row">
          <Button kind="main" type="submit" isPending={close.isPending}>
            {count > 1 ? "Close the alarms" : "Close the alarm"}
          </Button>
          <Button onPress={onEnd}>Cancel</Button>
        </div>
      </DataForm>
    </>
  );
}
