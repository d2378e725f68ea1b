/** The first page: redirects to the merchant if there is one, offers a choice if there are several. */
import { Link, Navigate } from "@tanstack/react-router";
import { nameOfRoles } from "../scope.ts";
import { useSignIn } from "../signed-in.tsx";
import { mayCreateMerchant } from "./may-create-merchant.ts";

export function StartPage() {
  const { member } = useSignIn();
  const memberships = member?.memberships ?? [];
  const [only] = memberships;
  if (only && memberships.length === 1) {
    const params = { environment: "test", merchantId: only.merchantId };
    return <Navigate to="/$environment/$merchantId/home" params={params} replace />;
  }
  return (
    <main className="lone">
      <div className="lone-box">
        <h1>{memberships.length === 0 ? "No merchant yet" : "Choose a merchant"}</h1>
        {memberships.length === 0 && <p>Ask an owner to invite {member?.email}.</p>}
        <ul className="form">
          {memberships.map(({ merchantId, merchantName, role, liveRole }) => (
            <li key={merchantId} className="row">
              <Link to="/$environment/$merchantId/home" params={{ environment: "test", merchantId }}>
                {merchantName}
              </Link>
              <span className="badge">{nameOfRoles({ role, liveRole })}</span>
            </li>
          ))}
        </ul>
        {mayCreateMerchant(memberships) && <Link to="/new-merchant">Create a merchant</Link>}
        <Link to="/account">Your account</Link>
      </div>
    </main>
  );
}
