/** Signing in: address and password, then the app's code where the member has one. */
import { useMutation } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { Form } from "react-aria-components";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { Button } from "../parts/button.tsx";
import { Field } from "../parts/field.tsx";
import { Mark } from "../parts/mark.tsx";
import { messageOf } from "../rpc.ts";

/** The form, and after it the page that was asked for. */
export function SignInPage() {
  const { next } = useSearch({ from: "/sign-in" });
  const navigate = useNavigate();
  const router = useRouter();
  const queries = useQueryClient();
  const signIn = useMutation(SignInService.method.signIn);
  const [needsCode, setNeedsCode] = useState(false);
  const submit = async (form: FormData) => {
    const code = String(form.get("code") ?? "");
    const claim = { email: String(form.get("email")), password: String(form.get("password")), ...(code && { code }) };
    const { codeNeeded } = await signIn.mutateAsync(claim);
    if (codeNeeded) return setNeedsCode(true);
    // Nothing of whoever was signed in before is shown to this one.
    queries.clear();
    if (next === undefined) await navigate({ to: "/" });
    else router.history.push(next);
  };
  return (
    <main className="lone">
      <div className="lone-box">
        <span className="brand">
          <Mark /> Switchyard
        </span>
        <h1>Sign in</h1>
        <Form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            submit(new FormData(event.currentTarget)).catch(() => {});
          }}
        >
          {signIn.error && (
            <p className="banner" data-tone="bad" role="alert">
              {messageOf(signIn.error)}
            </p>
          )}
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
        </Form>
      </div>
    </main>
  );
}
