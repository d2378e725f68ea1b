/** Sign-in by a passkey, or by address and password, then by the app's code if the member has one. */
import { useMutation as useRpc } from "@connectrpc/connect-query";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { PasskeyService } from "../../../../gen/dashboard/v1/passkeys_pb.ts";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { answerByPasskey } from "../parts/ask-passkey.ts";
import { Button } from "../parts/button.tsx";
import { CompanyButtons } from "../parts/company-buttons.tsx";
import { Entrance } from "../parts/entrance.tsx";
import { DataForm, Field } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { useClient } from "../use-client.ts";

export function SignInPage() {
  const { next } = useSearch({ from: "/sign-in" });
  const navigate = useNavigate();
  const router = useRouter();
  const queries = useQueryClient();
  const signIn = useRpc(SignInService.method.signIn);
  const [needsCode, setNeedsCode] = useState(false);
  const submit = async (form: FormData) => {
    const code = String(form.get("code") ?? "");
    const claim = { email: String(form.get("email")), password: String(form.get("password")), ...(code && { code }) };
    const { codeNeeded } = await signIn.mutateAsync(claim);
    if (codeNeeded) setNeedsCode(true);
    else await goOn();
  };
  const goOn = async () => {
    // Clears the data of the previously signed-in member.
    queries.clear();
    if (next === undefined) await navigate({ to: "/" });
    else router.history.push(next);
  };
  const client = useClient(PasskeyService);
  const byPasskey = useMutation({
    mutationFn: async () => {
      const { options } = await client.beginPasskeySignIn({});
      await client.signInWithPasskey({ credential: await answerByPasskey(options) });
    },
    onSuccess: goOn,
  });
  return (
    <Entrance title="Sign in">
      <DataForm onData={(fields) => submit(fields).catch(() => {})}>
        <Refusal error={signIn.error ?? byPasskey.error} />
        <Field label="E-mail" name="email" type="email" autoComplete="username" isRequired autoFocus />
        <Field label="Password" name="password" type="password" autoComplete="current-password" isRequired />
        {needsCode && (
          <Field
            label="Code"
            hint="The six digits that your authenticator app shows."
            name="code"
            inputMode="numeric"
            autoComplete="one-time-code"
            isRequired
            autoFocus
          />
        )}
        <Button kind="main" type="submit" isPending={signIn.isPending}>
          {signIn.isPending ? "Signing in …" : "Sign in"}
        </Button>
        <Button runs={byPasskey}>Use a passkey</Button>
        <CompanyButtons {...(next !== undefined && { next })} />
      </DataForm>
    </Entrance>
  );
}
