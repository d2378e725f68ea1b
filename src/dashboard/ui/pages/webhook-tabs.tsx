/** The common parts of the webhook pages: their heading and tabs. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useScope } from "../scope.ts";

const tabs = [
  ["/$environment/$merchantId/webhooks", "Endpoints"],
  ["/$environment/$merchantId/webhooks/deliveries", "Deliveries"],
  ["/$environment/$merchantId/webhooks/alerts", "Alerts"],
] as const;

/** Slow enough to put no load on the service; a hidden page does not poll. */
export const liveEveryMs = 5_000;

export function WebhookTabs({ children }: { children?: ReactNode }) {
  const { environmentName: environment, merchantId } = useScope();
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Webhooks</h1>
          <p>Your {environment} endpoints, and the delivery of each event.</p>
        </div>
        {children}
      </header>
      <nav className="presets" aria-label="Webhooks">
        {tabs.map(([to, name]) => (
          <Link
            key={to}
            to={to}
            params={{ environment, merchantId }}
            activeOptions={{ exact: name === "Endpoints", includeSearch: false }}
          >
            {name}
          </Link>
        ))}
      </nav>
    </>
  );
}
