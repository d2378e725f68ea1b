/** The frame around every page about a merchant: its navigation. */
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { Mark } from "./parts/mark.tsx";
import { PageIcon } from "./parts/page-icon.tsx";
import { Shortcuts } from "./parts/shortcuts.tsx";
import { Missing } from "./parts/states.tsx";
import { chosenCell } from "./rpc.ts";
import { useScope } from "./scope.ts";
import { useSignIn } from "./signed-in.tsx";

const pages = [
  ["/$environment/$merchantId/home", "home", "Home"],
  ["/$environment/$merchantId/payments", "payments", "Payments"],
  ["/$environment/$merchantId/refunds", "refunds", "Refunds"],
  ["/$environment/$merchantId/analytics", "analytics", "Analytics"],
  ["/$environment/$merchantId/ledger", "ledger", "Ledger"],
  ["/$environment/$merchantId/routing", "routing", "Routing"],
  ["/$environment/$merchantId/gateways", "gateways", "Gateways"],
  ["/$environment/$merchantId/webhooks", "webhooks", "Webhooks"],
  ["/$environment/$merchantId/keys", "keys", "API keys"],
  ["/$environment/$merchantId/team", "team", "Team"],
  ["/$environment/$merchantId/audit", "audit", "Audit trail"],
  ["/$environment/$merchantId/settings", "settings", "Settings"],
] as const;

/** Navigation, environment switch and the page itself. */
export function Shell() {
  const { environmentName, merchantId, merchantName } = useScope();
  const { member } = useSignIn();
  const nav = useCurrentInView();
  const cell = chosenCell();
  if (merchantName === undefined) return <Missing />;
  return (
    <div className="shell" data-environment={environmentName}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="bar">
        <Link className="brand" to="/">
          <Mark />
          {merchantName}
        </Link>
        <nav className="environment" aria-label="Environment">
          {(["test", "live"] as const).map((environment) => (
            <Link key={environment} to="." params={(params) => ({ ...params, environment })}>
              {environment === "test" ? "Test" : "Live"}
            </Link>
          ))}
        </nav>
        <div className="bar-end">
          {cell && <span>Cell {cell}</span>}
          <Shortcuts environment={environmentName} merchantId={merchantId} />
          <Link to="/account">{member?.name}</Link>
        </div>
      </header>
      <nav className="nav" aria-label="Pages" ref={nav}>
        <ul>
          {pages.map(([to, page, name]) => (
            <li key={to}>
              <Link to={to} params={{ environment: environmentName, merchantId }}>
                <PageIcon page={page} />
                {name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <main className="main" id="main" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}

/** Scrolls the current page's link into view where the links scroll in a row, as on a phone. */
function useCurrentInView() {
  const nav = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: which link is the current one follows from the address
  useEffect(() => {
    const row = nav.current;
    const current = row?.querySelector<HTMLElement>("[data-status=active]");
    if (row && current) row.scrollLeft = current.offsetLeft - (row.clientWidth - current.offsetWidth) / 2;
  }, [pathname]);
  return nav;
}
