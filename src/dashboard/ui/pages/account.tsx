/** A member's own account: password, authenticator app and sign-ins. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { browserName } from "../parts/browser-name.ts";
import { Button } from "../parts/button.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { useSignIn } from "../signed-in.tsx";
import { AccountEvents } from "./account-events.tsx";
import { PasskeysCard } from "./passkeys-card.tsx";
import { PasswordForm } from "./password-form.tsx";
import { TotpCard } from "./totp-card.tsx";

/** The page. */
export function AccountPage() {
  const { member } = useSignIn();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const signOut = useMutation(SignInService.method.signOut, {
    onSuccess: async () => {
      await navigate({ to: "/sign-in" });
      queries.clear();
    },
  });
  return (
    <main className="main" style={{ marginInline: "auto" }}>
      <header className="page-head">
        <div>
          <h1>{member?.name}</h1>
          <p>{member?.email}</p>
        </div>
        <div className="row">
          <Link to="/">Back</Link>
          <Button onPress={() => signOut.mutate({})} isPending={signOut.isPending}>
            Sign out
          </Button>
        </div>
      </header>
      <Refusal error={signOut.error} />
      <PasswordForm />
      <PasskeysCard />
      <TotpCard />
      <SignIns />
      <AccountEvents />
    </main>
  );
}

function SignIns() {
  const { data, error, refetch } = useQuery(SignInService.method.listSignIns, {});
  const revoke = useMutation(SignInService.method.revokeSignIn, { onSuccess: () => void refetch() });
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading what="Your sign-ins" />;
  return (
    <section className="card" aria-labelledby="sign-ins">
      <h2 id="sign-ins">Where you are signed in</h2>
      <Refusal error={revoke.error} />
      <ul className="form">
        {data.signIns.map(({ signInId, userAgent, address, lastSeenAt, isCurrent }) => (
          <li className="page-head" key={signInId}>
            <div>
              <bdi>{browserName(userAgent)}</bdi>{" "}
              {isCurrent && (
                <span className="badge" data-tone="good">
                  Current
                </span>
              )}
              <div className="soft small">
                {address} · last seen <Moment at={lastSeenAt} />
              </div>
            </div>
            {!isCurrent && <Button onPress={() => revoke.mutate({ signInId })}>End</Button>}
          </li>
        ))}
      </ul>
    </section>
  );
}
