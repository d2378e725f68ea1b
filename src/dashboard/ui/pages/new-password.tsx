/** Choosing a new password by an operator's link: its token stands behind the #, which no server sees. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Form } from "react-aria-components";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { Button } from "../parts/button.tsx";
import { Field } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Username } from "../parts/username.tsx";

/** The page. Afterwards one signs in with the new password. */
export function NewPasswordPage() {
  const [token] = useState(() => location.hash.slice(1));
  const { data, error, refetch } = useQuery(SignInService.method.getPasswordReset, { token }, { retry: false });
  return (
    <main className="lone">
      {error && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The link" />}
      {data && <NewPasswordForm token={token} email={data.email} />}
    </main>
  );
}

function NewPasswordForm({ token, email }: { token: string; email: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const reset = useMutation(SignInService.method.resetPassword);
  const submit = async (newPassword: string) => {
    await reset.mutateAsync({ token, newPassword });
    queries.clear();
    await navigate({ to: "/sign-in", replace: true });
  };
  return (
    <div className="lone-box">
      <h1>Choose a new password</h1>
      <p>It is for {email}. Wherever you are signed in now, you will be signed out.</p>
      <Form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          submit(String(new FormData(event.currentTarget).get("newPassword"))).catch(() => {});
        }}
      >
        <Refusal error={reset.error} />
        <Username email={email} />
        <Field
          label="New password"
          hint="12 characters or more. A few words that belong to nothing else are good."
          name="newPassword"
          type="password"
          autoComplete="new-password"
          minLength={12}
          maxLength={128}
          isRequired
          autoFocus
        />
        <Button kind="main" type="submit" isPending={reset.isPending}>
          Set it
        </Button>
      </Form>
    </div>
  );
}
