/** Sets a new password by an operator's link, whose token is in the fragment, which browsers do not send. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { Button } from "../parts/button.tsx";
import { DataForm } from "../parts/field.tsx";
import { NewPasswordField } from "../parts/new-password-field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Username } from "../parts/username.tsx";

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
      <p>This sets the password of {email}. You will be signed out everywhere.</p>
      <DataForm onData={(fields) => submit(String(fields.get("newPassword"))).catch(() => {})}>
        <Refusal error={reset.error} />
        <Username email={email} />
        <NewPasswordField label="New password" name="newPassword" autoFocus />
        <Button kind="main" type="submit" isPending={reset.isPending}>
          Set password
        </Button>
      </DataForm>
    </div>
  );
}
