/** Rolls a key: the next one is shown once, and the old one works for a chosen time. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type ApiKey, ApiKeyService } from "../../../../gen/dashboard/v1/api_keys_pb.ts";
import { ActionDialog } from "../parts/action-dialog.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { DataForm, SelectField } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { LastUsed, Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";

const times = [
  [3_600, "1 hour"],
  [86_400, "1 day"],
  [604_800, "7 days"],
] as const;

type RollProps = { keyId: string; title: string; onRolled: (key: string) => unknown };

export function RollKey({ keyId, title, onRolled }: RollProps) {
  const { merchantId, environment } = useScope();
  const client = useClient(ApiKeyService);
  const [isOpen, setOpen] = useState(false);
  const roll = useMutation({
    mutationFn: (form: FormData) =>
      client.rollApiKey({ merchantId, environment, keyId, oldKeySeconds: BigInt(String(form.get("seconds"))) }),
    onSuccess: ({ key }) => onRolled(key),
    onSettled: () => setOpen(false),
  });
  return (
    <>
      <Button isPending={roll.isPending} onPress={() => setOpen(true)}>
        Roll
      </Button>
      <Refusal error={roll.error} />
      <ActionDialog isOpen={isOpen} onClose={() => setOpen(false)}>
        <h2 slot="title">{title}</h2>
        <DataForm onData={roll.mutate}>
          <p className="soft">The new key has the same rights. Replace the old one while both work.</p>
          <SelectField label="The old key works for" name="seconds" values={times} defaultValue={86_400} />
          <div className="row">
            <Button kind="main" type="submit" isPending={roll.isPending}>
              Roll key
            </Button>
            <Button onPress={() => setOpen(false)}>Cancel</Button>
          </div>
        </DataForm>
      </ActionDialog>
    </>
  );
}

export function RolledKey({
  apiKey,
  mayRevoke,
  onChange,
}: {
  apiKey: ApiKey;
  mayRevoke: boolean;
  onChange: () => unknown;
}) {
  const { merchantId, environment } = useScope();
  const client = useClient(ApiKeyService);
  const { keyId, prefix, last4, endsAt, lastUsedAt } = apiKey;
  const revoke = useMutation({
    mutationFn: () => client.revokeApiKey({ merchantId, environment, keyId, replacedOnly: true }),
    onSuccess: onChange,
    meta: { done: "The old key no longer works." },
  });
  return (
    <div>
      The old key{" "}
      <code>
        {prefix}…{last4}
      </code>{" "}
      works until <Moment at={endsAt} />, <LastUsed at={lastUsedAt} />.
      {mayRevoke && (
        <Confirm action="Revoke old key" title="Revoke the old key?" runs={revoke}>
          It stops working immediately. The new key is not affected.
        </Confirm>
      )}
      <Refusal error={revoke.error} />
    </div>
  );
}
