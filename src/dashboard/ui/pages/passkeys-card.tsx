/** A member's passkeys: add, name, remove. */
import { useQuery } from "@connectrpc/connect-query";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Passkey, PasskeyService } from "../../../../gen/dashboard/v1/passkeys_pb.ts";
import { createPasskey } from "../parts/ask-passkey.ts";
import { browserName } from "../parts/browser-name.ts";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { DataForm, Field } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { LastUsed, Moment } from "../parts/time.tsx";
import { useSignIn } from "../signed-in.tsx";
import { useClient } from "../use-client.ts";
import { whatIsClosed } from "./totp-card.tsx";

export function PasskeysCard() {
  const { data, error, refetch } = useQuery(PasskeyService.method.listPasskeys, {});
  const client = useClient(PasskeyService);
  const queries = useQueryClient();
  const add = useMutation({
    mutationFn: async () => {
      const { options } = await client.offerPasskey({});
      const credential = await createPasskey(options);
      return client.addPasskey({ credential, name: browserName(navigator.userAgent).slice(0, 100) });
    },
    onSuccess: () => queries.invalidateQueries(),
    meta: { done: "The passkey is added." },
  });
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading what="Your passkeys" />;
  return (
    <section className="card" aria-labelledby="passkeys">
      <div className="page-head">
        <div>
          <h2 id="passkeys">Passkeys</h2>
          <p>Sign in with your device and its PIN, fingerprint or face. Other sites cannot request a passkey.</p>
        </div>
        <Button runs={add}>Add a passkey</Button>
      </div>
      <Refusal error={add.error} />
      {data.passkeys.length > 0 && (
        <ul className="form">
          {data.passkeys.map((passkey) => (
            <PasskeyRow key={passkey.passkeyId} passkey={passkey} isLast={data.passkeys.length === 1} />
          ))}
        </ul>
      )}
    </section>
  );
}

function PasskeyRow({ passkey, isLast }: { passkey: Passkey; isLast: boolean }) {
  const { member, secondFactorRequired: isRequired } = useSignIn();
  const { passkeyId, name, synced, createdAt, lastUsedAt } = passkey;
  const [isRenaming, setRenaming] = useState(false);
  const client = useClient(PasskeyService);
  const queries = useQueryClient();
  const changed = () => {
    setRenaming(false);
    return queries.invalidateQueries();
  };
  const rename = useMutation({
    mutationFn: (wanted: string) => client.renamePasskey({ passkeyId, name: wanted }),
    onSuccess: changed,
    meta: { done: "The passkey is renamed." },
  });
  const remove = useMutation({
    mutationFn: () => client.removePasskey({ passkeyId }),
    onSuccess: changed,
    meta: { done: "The passkey is removed." },
  });
  return (
    <li className="form">
      <div className="page-head">
        <div>
          <bdi>{name}</bdi> {synced && <span className="badge">Synced</span>}
          <div className="soft small">
            Added <Moment at={createdAt} /> · <LastUsed at={lastUsedAt} />
          </div>
        </div>
        <div className="row">
          <Button onPress={() => setRenaming(!isRenaming)} aria-label={`Rename ${name}`} aria-expanded={isRenaming}>
            Rename
          </Button>
          <Confirm action="Remove" title={`Remove ${name}?`} runs={remove}>
            You can no longer sign in with it. Delete it on the device too.
            {isLast && isRequired && !member?.hasTotp && ` The password alone will sign you in, and ${whatIsClosed}`}
          </Confirm>
        </div>
      </div>
      <Refusal error={rename.error ?? remove.error} />
      {isRenaming && (
        <DataForm onData={(fields) => rename.mutate(String(fields.get("name")))}>
          <Field label="Name" name="name" defaultValue={name} maxLength={100} isRequired autoFocus />
          <div>
            <Button type="submit" isPending={rename.isPending}>
              Save the name
            </Button>
          </div>
        </DataForm>
      )}
    </li>
  );
}
