/** Accepting an invitation: the link's token is in the fragment, which browsers do not send. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type GetInvitationResponse, SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { Button } from "../parts/button.tsx";
import { CompanyButtons } from "../parts/company-buttons.tsx";
import { DataForm, Field } from "../parts/field.tsx";
import { NewPasswordField } from "../parts/new-password-field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Username } from "../parts/username.tsx";
import { nameOfRoles } from "../scope.ts";

export function InvitationPage() {
  const [token] = useState(() => location.hash.slice(1));
  const { data, error, refetch } = useQuery(SignInService.method.getInvitation, { token }, { retry: false });
  return (
    <main className="lone">
      {error && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The invitation" />}
      {data && <AcceptForm token={token} invitation={data} />}
    </main>
  );
}

function AcceptForm({ token, invitation }: { token: string; invitation: GetInvitationResponse }) {
  const { email, merchantName, role, liveRole } = invitation;
  const [hasAccount, setHasAccount] = useState(false);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const accept = useMutation(SignInService.method.acceptInvitation);
  const [needsCode, setNeedsCode] = useState(false);
  const submit = async (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? "");
    const optional = { ...(text("name") && { name: text("name") }), ...(text("code") && { code: text("code") }) };
    const { codeNeeded } = await accept.mutateAsync({ token, password: text("password"), ...optional });
    if (codeNeeded) return setNeedsCode(true);
    queries.clear();
    await navigate({ to: "/", replace: true });
  };
  return (
    <div className="lone-box">
      <h1>Join {merchantName}</h1>
      <p>
        You are invited as {nameOfRoles({ role, liveRole }).toLowerCase()}, with the address {email}.
      </p>
      <DataForm onData={(fields) => submit(fields).catch(() => {})}>
        <Refusal error={accept.error} />
        <Username email={email} />
        <label className="row">
          <input type="checkbox" checked={hasAccount} onChange={(event) => setHasAccount(event.target.checked)} />I
          already have an account
        </label>
        {!hasAccount && <Field label="Your name" name="name" autoComplete="name" maxLength={100} isRequired />}
        {hasAccount ? (
          <Field
            label="Your password"
            name="password"
            type="password"
            autoComplete="current-password"
            key="own"
            isRequired
          />
        ) : (
          <NewPasswordField label="Choose a password" key="new" name="password" />
        )}
        {needsCode && (
          <Field label="Code from your app" name="code" inputMode="numeric" autoComplete="one-time-code" isRequired />
        )}
        <Button kind="main" type="submit" isPending={accept.isPending}>
          Join
        </Button>
        <CompanyButtons invitationToken={token} />
      </DataForm>
    </div>
  );
}
