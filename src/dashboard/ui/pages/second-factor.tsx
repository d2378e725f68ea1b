/** The page on which a member adds the second factor that live requires, or confirms an existing one. */
import { useQueryClient } from "@tanstack/react-query";
import { Link, useRouter, useSearch } from "@tanstack/react-router";
import { Button } from "../parts/button.tsx";
import { LoneFrame } from "../parts/lone-frame.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ProofForm } from "../parts/prove.tsx";
import { useSignIn } from "../signed-in.tsx";
import { PasskeysCard } from "./passkeys-card.tsx";
import { TotpCard } from "./totp-card.tsx";

export function SecondFactorPage() {
  const { member, hasSecondFactor } = useSignIn();
  if (hasSecondFactor) return <Done />;
  if (member?.hasTotp || member?.hasPasskey) return <ConfirmIt />;
  return (
    <LoneFrame>
      <PageHead title="Set up a second factor">
        Live, the team and new merchants need one beside your password. Add a passkey, which also replaces the password,
        or an authenticator app. It ends your sign-ins in other browsers.
      </PageHead>
      <PasskeysCard />
      <TotpCard />
      <Link to="/">Not now</Link>
    </LoneFrame>
  );
}

function ConfirmIt() {
  const signIn = useSignIn();
  const { member } = signIn;
  const queries = useQueryClient();
  const router = useRouter();
  const end = (isProved: boolean) => (isProved ? queries.invalidateQueries() : router.history.back());
  return (
    <LoneFrame>
      <PageHead title="Confirm your second factor">
        You have signed in without it. Confirm with {member?.hasTotp ? "your password and the app’s code" : "a passkey"}
        {member?.hasTotp && member.hasPasskey && ", or with a passkey"}.
      </PageHead>
      <section className="card">
        <ProofForm signIn={signIn} onEnd={end} />
      </section>
    </LoneFrame>
  );
}

function Done() {
  const { next = "/" } = useSearch({ from: "/signed-in/second-factor" });
  const router = useRouter();
  return (
    <LoneFrame>
      <PageHead title="Your second factor works">
        Live, the team and new merchants are open to you. Add a second passkey or an app in{" "}
        <Link to="/account">your account</Link>, in case you lose this one.
      </PageHead>
      <div>
        <Button kind="main" onPress={() => router.history.push(next)}>
          Continue
        </Button>
      </div>
    </LoneFrame>
  );
}
