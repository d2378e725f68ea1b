/** The authenticator app of a member: begin, confirm by a code, end. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type OfferTotpResponse, SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { DataForm, Field } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { useSignIn } from "../signed-in.tsx";
import { useClient } from "../use-client.ts";

/** The end of a sentence that names the pages which a member without a second factor cannot use, if one is required. */
export const whatIsClosed = "live, the team and new merchants will be closed to you until you add an app or a passkey.";

export function TotpCard() {
  const { member, secondFactorRequired: isRequired } = useSignIn();
  const client = useClient(SignInService);
  const queries = useQueryClient();
  const offer = useMutation({ mutationFn: () => client.offerTotp({}) });
  const changed = () => {
    offer.reset();
    return queries.invalidateQueries();
  };
  const remove = useMutation({
    mutationFn: () => client.removeTotp({}),
    onSuccess: changed,
    meta: { done: "Codes are no longer required." },
  });
  return (
    <section className="card" aria-labelledby="totp">
      <div className="page-head">
        <div>
          <h2 id="totp">Authenticator app</h2>
          <p>
            {member?.hasTotp
              ? "Every sign-in by password requires a code from your app."
              : "A code keeps your account safe if your password leaks."}
          </p>
        </div>
        {member?.hasTotp && (
          <Confirm action="Stop using it" title="Stop using the app?" runs={remove}>
            {afterRemoval(member.hasPasskey, isRequired)}
          </Confirm>
        )}
        {!member?.hasTotp && !offer.data && <Button runs={offer}>Set it up</Button>}
      </div>
      <Refusal error={offer.error ?? remove.error} />
      {offer.data && !member?.hasTotp && <ConfirmForm offer={offer.data} onConfirmed={changed} />}
    </section>
  );
}

function ConfirmForm({ offer, onConfirmed }: { offer: OfferTotpResponse; onConfirmed: () => unknown }) {
  const client = useClient(SignInService);
  const confirm = useMutation({
    mutationFn: (code: string) => client.confirmTotp({ code }),
    onSuccess: onConfirmed,
    meta: { done: "Every sign-in by password requires a code from now on." },
  });
  return (
    <DataForm onData={(fields) => confirm.mutate(String(fields.get("code")))}>
      <p>
        <a href={offer.uri}>Open your app</a> on this device, or type this key into it:{" "}
        <code>{grouped(offer.secret)}</code>
      </p>
      <Refusal error={confirm.error} />
      <Field label="Code that the app shows" name="code" inputMode="numeric" autoComplete="one-time-code" isRequired />
      <div>
        <Button kind="main" type="submit" isPending={confirm.isPending}>
          Require codes
        </Button>
      </div>
    </DataForm>
  );
}

function afterRemoval(hasPasskey: boolean, isRequired: boolean): string {
  if (hasPasskey && isRequired) return "Only a passkey will sign you in.";
  if (hasPasskey) return "Your password alone or a passkey will sign you in.";
  if (isRequired) return `The password alone will sign you in, and ${whatIsClosed}`;
  return "The password alone will sign you in.";
}

function grouped(secret: string): string {
  return secret.replace(/(.{4})(?=.)/g, "$1 ");
}
