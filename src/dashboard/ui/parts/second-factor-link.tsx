/** Leads a member from a refusal that requires a second factor to where they add or confirm one, and back. */
import { Link, useLocation } from "@tanstack/react-router";

export function SecondFactorLink() {
  const { href } = useLocation();
  return (
    <Link to="/second-factor" search={{ next: href }}>
      Set up a second factor
    </Link>
  );
}

/** Stands for a page, or for a part of it, that is closed without one. */
export function SecondFactorNeeded() {
  return (
    <div className="card" role="alert">
      <h2>A second factor is required</h2>
      <p>
        Live, the team and new merchants need an authenticator app or a passkey. The other pages of test, and your
        account, are open without one.
      </p>
      <div>
        <SecondFactorLink />
      </div>
    </div>
  );
}
