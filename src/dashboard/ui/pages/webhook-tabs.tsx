/** What the pages about webhooks have in common: their heading, and the way from one to the other. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useScope } from "../scope.ts";

const tabs = [
  ["/$environment/$merchantId/webhooks", "Endpoints"],
  ["/$environment/$merchantId/webhooks/deliveries", "Deliveries"],
  ["/$environment/$merchantId/webhooks/notices", "Notices"],
] as const;

/** Seldom enough to be nothing to the service; a page that nobody sees asks for nothing. */
export const liveEveryMs = 5_000;

/** `children` stand beside the heading. */
export function WebhookTabs({ children }: { children?: ReactNode }) {
  const { environmentName: environment, merchantId } = useScope();
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Webhooks</h1>
          <p>Where your {environment} events go, and what became of each.</p>
        </div>
        {children}
      </header>
      <nav className="presets" aria-label="Webhooks">
        {tabs.map(([to, name]) => (
          <Link
            key={to}
            to={to}
            params={{ environment, merchantId }}
            activeOptions={{ exact: true, includeSearch: false }}
          >
            {name}
          </Link>
        ))}
      </nav>
    </>
  );
}
