/** Whether a week of payments can be made as the demo stands: only the sandbox gateways know its cards and always tell what became of them. */
import { createDashboardClient } from "../client/dashboard-client.ts";
import { Secret } from "../platform/secrets.ts";
import type { DemoFile } from "./demo-file.ts";

const sandboxGateways = ["SANDBOX_A", "SANDBOX_B"];

/** Why no payments are made, and what to do: the first merchant's newest rule names another gateway. Undefined when they can be. */
export async function whyNoTraffic(file: DemoFile): Promise<string | undefined> {
  const scope = { merchantId: file.merchants[0]!.merchantId, environment: "ENVIRONMENT_TEST" } as const;
  const dashboard = createDashboardClient(file.grpcAddress, new Secret(file.operatorToken));
  try {
    const [{ connections = [] }, { versions = [] }] = await Promise.all([
      dashboard.connections.listGatewayConnections(scope),
      // As many as a page has; an older version that would do is not looked for.
      dashboard.routingRules.listRoutingRuleVersions({ ...scope, pageSize: 100 }),
    ]);
    const gateways = new Map(connections.map(({ connectionId, gateway = "" }) => [connectionId, gateway]));
    const rules = versions.map(({ routingRule: { version = 0, connectionIds = [] } = {} }) => ({
      version,
      gateways: connectionIds.map((id) => gateways.get(id) ?? id),
    }));
    return whyNoTrafficBy(rules);
  } finally {
    dashboard.close();
  }
}

/** As `whyNoTraffic`, of rules with the newest first. PURE. */
export function whyNoTrafficBy(
  rules: readonly { readonly version: number; readonly gateways: readonly string[] }[],
): string | undefined {
  const othersOf = ({ gateways }: { gateways: readonly string[] }) =>
    gateways.filter((gateway) => !sandboxGateways.includes(gateway));
  const [newest] = rules;
  const others = newest === undefined ? [] : othersOf(newest);
  if (newest === undefined || others.length === 0) return undefined;
  const known = rules.find((rule) => othersOf(rule).length === 0);
  const back =
    known === undefined
      ? "set a rule of the sandbox gateways alone (`npx switchyard routing set --help`)"
      : `set the rule back (\`npx switchyard routing restore ${known.version}\`)`;
  return `No payments are made: version ${newest.version} of the routing rule names ${others.join(", ")}, and the traffic is for the sandbox gateways alone; ${back} and start again with --demo-traffic, or go on without the traffic.`;
}
