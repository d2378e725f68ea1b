/** The page after a failed sign-in by a company's identity provider: the reason, and the next step. */
import { Link, useSearch } from "@tanstack/react-router";
import { Entrance } from "../parts/entrance.tsx";

const texts: Readonly<Record<string, string>> = {
  expired: "It took longer than ten minutes, or began in another browser. Begin again.",
  refused: "Your company’s provider did not confirm the sign-in. Try again; if it fails again, ask your operator.",
  unavailable: "Your company’s provider does not answer. Try again later.",
  unknown_account:
    "Your account at the provider is not linked to a member. If you have a password here, sign in with it and link the account on your account page. Otherwise ask an owner to invite you.",
  address_taken:
    "A member with your address exists already. Sign in as before, and link the account on your account page.",
  linked_elsewhere: "This account is linked to another member, or another account of the provider is linked to you.",
  invitation_gone: "The invitation has expired or was used already. Ask for a new one.",
  other_address: "The invitation is for another address than the one that your provider has verified.",
  other_account: "This is not the account with which you have signed in. Confirm with that one.",
  not_fresh: "The provider did not ask you to sign in again. Confirm with a passkey or your password.",
  signed_out: "Your sign-in has ended meanwhile. Sign in, then link the account again.",
};

export function CompanySignInPage() {
  const { refused } = useSearch({ from: "/company-sign-in" });
  return (
    <Entrance title="The sign-in did not work">
      <p role="alert">{texts[refused] ?? texts.refused}</p>
      <Link className="button" data-kind="main" to="/sign-in">
        Sign in
      </Link>
      <Link to="/account">Your account</Link>
    </Entrance>
  );
}
