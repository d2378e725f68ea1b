/** Asks the member to prove their identity again where a call requires it. */
import { createClient } from "@connectrpc/connect";
import { useMutation as useRpc, useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { PasskeyService } from "../../../../gen/dashboard/v1/passkeys_pb.ts";
import { type GetCurrentSignInResponse, SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { proveBy } from "../rpc.ts";
import { ActionDialog } from "./action-dialog.tsx";
import { answerByPasskey } from "./ask-passkey.ts";
import { Button } from "./button.tsx";
import { DataForm, Field } from "./field.tsx";
import { ProofDeclined, Refusal } from "./refusal.tsx";
import { Username } from "./username.tsx";

/** The dialog, once on the page. Every call that waits for a proof continues with it, or ends with `ProofDeclined`. */
export function Proof({ signIn }: { signIn: GetCurrentSignInResponse }) {
  const [isAsking, setAsking] = useState(false);
  const waiting = useRef<{ resolve: () => void; reject: (reason: unknown) => void }[]>([]);
  useEffect(() => {
    proveBy(
      () =>
        new Promise((resolve, reject) => {
          waiting.current.push({ resolve, reject });
          setAsking(true);
        }),
    );
    return () => proveBy(undefined);
  }, []);
  const end = (isProved: boolean) => {
    setAsking(false);
    for (const { resolve, reject } of waiting.current.splice(0)) {
      if (isProved) resolve();
      else reject(new ProofDeclined());
    }
  };
  return (
    <ActionDialog isOpen={isAsking} onClose={() => end(false)} title="Confirm that it is you" isDismissable>
      <p className="soft">To make this change, you must have confirmed your identity within the last 15 minutes.</p>
      <ProofForm signIn={signIn} onEnd={end} />
    </ActionDialog>
  );
}

export function ProofForm({ signIn, onEnd }: { signIn: GetCurrentSignInResponse; onEnd: (isProved: boolean) => void }) {
  const { member, secondFactorRequired } = signIn;
  // A member of a company may have no password.
  const isByCompany = signIn.providerId !== "" && !member?.hasTotp;
  const isPasskeyOnly = secondFactorRequired && member?.hasPasskey && !member.hasTotp;
  const takesPassword = !isPasskeyOnly && !isByCompany;
  const prove = useRpc(SignInService.method.proveSignIn);
  const [needsCode, setNeedsCode] = useState(false);
  const transport = useTransport();
  const client = createClient(PasskeyService, transport);
  const byPasskey = useMutation({
    mutationFn: async () => {
      const { options } = await client.beginPasskeyProof({});
      await client.proveWithPasskey({ credential: await answerByPasskey(options) });
    },
    onSuccess: () => onEnd(true),
  });
  const byCompany = useMutation({
    mutationFn: async () => {
      const next = location.pathname + location.search;
      location.assign((await createClient(SignInService, transport).beginCompanyProof({ next })).authorizationUrl);
    },
  });
  const submit = async (form: FormData) => {
    const code = String(form.get("code") ?? "");
    const answer = await prove.mutateAsync({ password: String(form.get("password")), ...(code && { code }) });
    setNeedsCode(answer.codeNeeded);
    if (!answer.codeNeeded) onEnd(true);
  };
  return (
    <DataForm onData={(fields) => submit(fields).catch(() => {})}>
      <Refusal error={prove.error ?? byPasskey.error ?? byCompany.error} />
      <Username email={member?.email} />
      {takesPassword && (
        <Field label="Password" name="password" type="password" autoComplete="current-password" isRequired autoFocus />
      )}
      {needsCode && (
        <Field label="Code from your app" name="code" inputMode="numeric" autoComplete="one-time-code" isRequired />
      )}
      <div className="row">
        {takesPassword && (
          <Button kind="main" type="submit" isPending={prove.isPending}>
            Confirm
          </Button>
        )}
        {member?.hasPasskey && (
          <Button {...(isPasskeyOnly && { kind: "main" })} runs={byPasskey}>
            Use a passkey
          </Button>
        )}
        {signIn.providerId !== "" && (
          <Button {...(!takesPassword && { kind: "main" })} runs={byCompany}>
            Sign in again at {signIn.providerName}
          </Button>
        )}
        <Button onPress={() => onEnd(false)}>Cancel</Button>
      </div>
    </DataForm>
  );
}
