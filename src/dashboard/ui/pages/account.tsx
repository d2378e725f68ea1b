/** A member's own account: password, authenticator app and sign-ins. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { Badge } from "../parts/badge.tsx";
import { browserName } from "../parts/browser-name.ts";
import { Button } from "../parts/button.tsx";
import { LoneFrame } from "../parts/lone-frame.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { nameOfRoles } from "../scope.ts";
import { useSignIn } from "../signed-in.tsx";
import { AccountEvents } from "./account-events.tsx";
import { CompanyCard } from "./company-card.tsx";
import { mayCreateMerchant } from "./may-create-merchant.ts";
import { PasskeysCard } from "./passkeys-card.tsx";
import { PasswordForm } from "./password-form.tsx";
import { TotpCard } from "./totp-card.tsx";

export function AccountPage() {
  const { member } = useSignIn();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const signOut = useMutation(SignInService.method.signOut, {
    onSuccess: async ({ endSessionUrl }) => {
      if (endSessionUrl !== "") return location.assign(endSessionUrl);
      await navigate({ to: "/sign-in" });
      queries.clear();
    },
  });
  return (
    <LoneFrame>
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
      <Merchants />
      <PasswordForm />
      <PasskeysCard />
      <TotpCard />
      <CompanyCard />
      <SignIns />
      <AccountEvents />
    </LoneFrame>
  );
}

function Merchants() {
  const memberships = useSignIn().member?.memberships ?? [];
  return (
    <section className="card" aria-labelledby="merchants">
      <div className="page-head">
        <div>
          <h2 id="merchants">Your merchants</h2>
          {memberships.length === 0 && <p>Ask an owner to invite you.</p>}
        </div>
        {mayCreateMerchant(memberships) && <Link to="/new-merchant">Create a merchant</Link>}
      </div>
      <ul className="form">
        {memberships.map(({ merchantId, merchantName, role, liveRole }) => (
          <li key={merchantId} className="row">
            <Link to="/$environment/$merchantId/home" params={{ environment: "test", merchantId }}>
              <bdi>{merchantName}</bdi>
            </Link>
            <span className="badge">{nameOfRoles({ role, liveRole })}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function SignIns() {
  const { data, error, refetch } = useQuery(SignInService.method.listSignIns, {});
  const revoke = useMutation(SignInService.method.revokeSignIn, {
    onSuccess: () => void refetch(),
    meta: { done: "The sign-in is ended." },
  });
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
              <bdi>{browserName(userAgent)}</bdi> {isCurrent && <Badge tone="good">Current</Badge>}
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
