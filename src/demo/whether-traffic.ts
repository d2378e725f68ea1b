/** Decides if the demo can make a week of payments: only the sandbox gateways always report an outcome. */
import { createDashboardClient } from "../client/dashboard-client.ts";
import { Secret } from "../platform/secrets.ts";
import type { DemoFile } from "./demo-file.ts";

const sandboxGateways = ["SANDBOX_A", "SANDBOX_B"];

/** Returns the reason that no payments can be made, with a remedy; undefined if they can be. */
export async function whyNoTraffic(file: DemoFile): Promise<string | undefined> {
  const scope = { merchantId: file.merchants[0]!.merchantId, environment: "ENVIRONMENT_TEST" } as const;
  const dashboard = createDashboardClient(file.grpcAddress, new Secret(file.operatorToken));
  try {
    const [{ connections = [] }, { versions = [] }, { payments = [] }] = await Promise.all([
      dashboard.connections.listGatewayConnections(scope),
      // A single page is read; older suitable versions are not searched.
      dashboard.routingRules.listRoutingRuleVersions({ ...scope, pageSize: 100 }),
      dashboard.payments.listPayments({ ...scope, pageSize: 1 }),
    ]);
    const gateways = new Map(connections.map(({ connectionId, gateway = "" }) => [connectionId, gateway]));
    const rules = versions.map(({ routingRule: { version = 0, connectionIds = [] } = {} }) => ({
      version,
      gateways: connectionIds.map((id) => gateways.get(id) ?? id),
    }));
    return whyNoTrafficBy(rules, { hasPayments: payments.length > 0 });
  } finally {
    dashboard.close();
  }
}

/** Decides as `whyNoTraffic` does, for rules with the newest first. PURE. */
export function whyNoTrafficBy(
  rules: readonly { readonly version: number; readonly gateways: readonly string[] }[],
  { hasPayments }: { hasPayments: boolean },
): string | undefined {
  const othersOf = ({ gateways }: { gateways: readonly string[] }) =>
    gateways.filter((gateway) => !sandboxGateways.includes(gateway));
  const [newest] = rules;
  const others = newest === undefined ? [] : othersOf(newest);
  if (newest === undefined || others.length === 0) return hasPayments ? notBetween : undefined;
  const known = rules.find((rule) => othersOf(rule).length === 0);
  const back =
    known === undefined
      ? "set a rule with only the sandbox gateways on the page Routing"
      : `set the rule back (\`npx switchyard rpc RoutingRuleService/RestoreRoutingRule '{"version": ${known.version}}'\`)`;
  return `No payments are made: version ${newest.version} of the routing rule names ${others.join(", ")}, and the traffic uses only the sandbox gateways. To make payments, ${back} and start again with --demo-traffic.`;
}

// Lists are in order of creation: a week made later would stand above newer payments.
const notBetween =
  "No payments are made: this demo already has payments, and a new week of payments would not be in the order of creation. Start an empty demo beside it: npm start -- --state .switchyard/week --demo-traffic.";
