/** The order of a merchant's gateways, the failures after which the next one is tried, and customer authentication. */
import { useQuery } from "@connectrpc/connect-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { type RoutingRule, RoutingRuleService } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Badge } from "../parts/badge.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { ScopeLink, useScope } from "../scope.ts";
import { RoutingAuthentication } from "./routing-authentication.tsx";
import { RoutingCases } from "./routing-cases.tsx";
import { RoutingDefaultPlan } from "./routing-default-plan.tsx";
import { anyPayment, useRuleDraft } from "./routing-draft.ts";
import { RoutingHistory } from "./routing-history.tsx";
import type { Connections } from "./routing-order.tsx";
import { RoutingSave } from "./routing-save.tsx";
import { RoutingSwitches } from "./routing-switches.tsx";
import { RoutingTester } from "./routing-tester.tsx";
import { RoutingWallets } from "./routing-wallets.tsx";
import { RoutingWhatIf } from "./routing-what-if.tsx";

export function RoutingPage() {
  const { merchantId, environment, environmentName } = useScope();
  const rule = useQuery(RoutingRuleService.method.getRoutingRule, { merchantId, environment });
  const connections = useQuery(GatewayConnectionService.method.listGatewayConnections, { merchantId, environment });
  // Edits survive a later failure to load.
  const isRead = rule.data !== undefined && connections.data !== undefined;
  const error = isRead ? null : (rule.error ?? connections.error);
  const retry = () => Promise.all([rule.refetch(), connections.refetch()]);
  return (
    <>
      <PageHead title="Routing" actions={rule.data?.routingRule && <InUse rule={rule.data.routingRule} />}>
        Which gateway gets a payment first in {environmentName}, after which failures the next one is tried, and when
        customers authenticate. A payment keeps the version that it started with.
      </PageHead>
      {error && <Failure error={error} onRetry={retry} />}
      {!error && !isRead && <Loading what="The routing rule" />}
      {rule.data && connections.data && (
        <Editor
          key={`${merchantId} ${environmentName}`}
          rule={rule.data.routingRule}
          connections={connections.data.connections}
        />
      )}
    </>
  );
}

function InUse({ rule }: { rule: RoutingRule }) {
  if (rule.version === 0) {
    return (
      <p className="small">
        <Badge tone="good">Default rule in use</Badge>
      </p>
    );
  }
  return (
    <p className="small">
      <Badge tone="good">Version {rule.version} in use</Badge> since <Moment at={rule.createdAt} />
    </p>
  );
}

const tabs = [
  [undefined, "Default"],
  ["cases", "Cases"],
  ["authentication", "Authentication"],
  ["history", "History"],
] as const;

function Tabs() {
  return (
    <nav className="presets" aria-label="Routing">
      {tabs.map(([tab, name]) => (
        <ScopeLink
          key={name}
          to="./routing"
          search={tab === undefined ? {} : { tab }}
          activeOptions={{ exact: true }}
          resetScroll={false}
        >
          {name}
        </ScopeLink>
      ))}
    </nav>
  );
}

function Editor({ rule, connections }: { rule: RoutingRule | undefined; connections: Connections }) {
  const { role } = useScope();
  const { tab } = useSearch({ from: "/signed-in/$environment/$merchantId/routing" });
  const [trial, setTrial] = useState(anyPayment);
  const draft = useRuleDraft(rule);
  const mayChange = includesRole(role, Role.DEVELOPER);
  const gateways = connections.filter(({ isProvider }) => !isProvider);
  if (gateways.length === 0) {
    return (
      <Empty title="No gateway is connected yet">
        <p>Payments are routed to accounts that you connect and verify first.</p>
        <ScopeLink className="button" data-kind="main" to="./gateways">
          Connect a gateway
        </ScopeLink>
      </Empty>
    );
  }
  return (
    <>
      {!mayChange && <p className="banner">You can view and test the rule. Developers and owners can change it.</p>}
      {rule?.version === 0 && (
        <p className="banner">
          You have saved no rule, so payments follow the default rule: your verified gateways that are not paused, at
          most five, in the order in which they were first verified. It changes with your gateways until you save it as
          version 1.
        </p>
      )}
      <Tabs />
      {tab === "history" ? (
        <RoutingHistory inUse={rule} mayChange={mayChange} />
      ) : (
        <>
          <div className="with-tester">
            <div className="stack">
              {tab === undefined && (
                <>
                  <RoutingDefaultPlan draft={draft} connections={gateways} mayChange={mayChange} />
                  <RoutingSwitches draft={draft} mayChange={mayChange} />
                  <RoutingWallets draft={draft} mayChange={mayChange} />
                </>
              )}
              {tab === "cases" && <RoutingCases draft={draft} connections={gateways} mayChange={mayChange} />}
              {tab === "authentication" && (
                <RoutingAuthentication draft={draft} connections={connections} mayChange={mayChange} />
              )}
            </div>
            <RoutingTester draft={draft} trial={trial} onTrial={setTrial} />
          </div>
          <RoutingWhatIf draft={draft} />
        </>
      )}
      <RoutingSave draft={draft} />
    </>
  );
}
