/** The deletion of a stored card and the cancellation of an agreement, for developers and owners: a button, and the question with its reason. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Heading } from "react-aria-components/Dialog";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { ActionDialog } from "../parts/action-dialog.tsx";
import { Button } from "../parts/button.tsx";
import { DataForm, Field } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { useScope } from "../scope.ts";

type StoredActionProps = {
  /** The label of the buttons, such as `Delete card`. */
  action: string;
  /** The subject of the first button, for screen readers. */
  label: string;
  title: string;
  /** The consequences, in sentences. */
  children: string;
  /** Does it, with the reason for the audit trail. */
  run: (reason: string) => Promise<unknown>;
  /** The confirmation, in a sentence. */
  done: string;
};

export function StoredAction({ action, label, title, children, run, done }: StoredActionProps) {
  const { role } = useScope();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const mutation = useMutation({
    mutationFn: run,
    onSuccess: async () => {
      setOpen(false);
      await queries.invalidateQueries();
    },
    meta: { done },
  });
  const close = () => {
    setOpen(false);
    mutation.reset();
  };
  if (!includesRole(role, Role.DEVELOPER)) return null;
  return (
    <>
      <Button kind="caution" aria-label={label} onPress={() => setOpen(true)}>
        {action}
      </Button>
      <ActionDialog isOpen={isOpen} onClose={close}>
        <Heading slot="title">{title}</Heading>
        <p className="soft">{children}</p>
        <DataForm onData={(fields) => mutation.mutate(String(fields.get("reason")))}>
          <Field
            label="Reason"
            name="reason"
            hint="For the audit trail, such as “the customer asked for it”."
            isRequired
            maxLength={1000}
            autoComplete="off"
            autoFocus
          />
          <Refusal error={mutation.error} />
          <div className="row">
            <Button kind="danger" type="submit" isPending={mutation.isPending}>
              {action}
            </Button>
            <Button onPress={close}>Close</Button>
          </div>
        </DataForm>
      </ActionDialog>
    </>
  );
}
