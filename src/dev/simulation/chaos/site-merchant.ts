/** The merchant of each cell of a chaos run, created by the service's own functions as in the demo. */
import { Pool } from "pg";
import { readConfig } from "../../../config/config.ts";
import type { Core } from "../../../core/core.ts";
import { findRoutingRule, recordRoutingRule } from "../../../core/record/routing-rules.ts";
import type { RoutingRule } from "../../../core/rows/entities.ts";
import type { DemoCredentials } from "../../../demo/demo-file.ts";
import type { DemoAddresses } from "../../../demo/ports.ts";
import { SandboxAccounts } from "../../../demo/sandbox-accounts.ts";
import { seedMerchant } from "../../../demo/seed.ts";
import {
  listConnections,
  recordConnection,
  recordVerified,
  setAcquirerData,
  stageCredentials,
} from "../../../gateways/connections.ts";
import { firstCell } from "../../../platform/cells.ts";
import { Database } from "../../../platform/database.ts";
import { decodeId } from "../../../platform/ids.ts";
import { createLogger } from "../../../platform/log.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import { openInstallation } from "../../../processes/installation.ts";
import { emulatorAccounts, notificationKey } from "../../testing/emulator-accounts.ts";

/** The merchant's credentials, and functions to change its notification address and its rule. */
export type SiteMerchant = DemoCredentials & {
  /** Sends the notifications of SANDBOX_B and ADYEN to this edge from now on. */
  sendNotificationsTo(apiOrigin: string): Promise<void>;
  /** Makes new payments use all of its connections, in the order that `arrange` returns, with these settings. */
  changeRule(
    databaseUrl: string,
    arrange: (connectionIds: readonly string[]) => readonly string[],
    settings: { readonly authentication: "AS_NEEDED" | "ALWAYS"; readonly retriesSameGateway: boolean },
  ): Promise<void>;
};

async function retrySameGateway({ database }: Core, merchantId: string): Promise<void> {
  await database.transaction(async (tx) => {
    const { connectionIds, ...rule } = (await findRoutingRule(tx, merchantId))!;
    await recordRoutingRule(tx, { ...contentOf(rule), connectionIds, retriesSameGateway: true });
  });
}

/** Puts STRIPE, ADYEN and PAYPAL before the sandbox gateways. */
async function connectRealOnes({ database, sealing }: Core, merchantId: string): Promise<void> {
  await database.transaction(async (tx) => {
    const sandbox = (await findRoutingRule(tx, merchantId))!;
    const { acquirer = null } = (await listConnections(tx, merchantId)).find(({ gateway }) => gateway === "SANDBOX_B")!;
    const real: string[] = [];
    for (const gateway of ["STRIPE", "ADYEN", "PAYPAL"] as const) {
      const id = systemRuntime.uuid();
      const account = `test_chaos${gateway.toLowerCase()}`;
      await recordConnection(tx, { id, merchantId, gateway, account });
      const credentials = emulatorAccounts[gateway].credentials(account);
      const credentialVersion = await stageCredentials(tx, sealing, { connectionId: id, credentials });
      await recordVerified(tx, { connectionId: id, credentialVersion });
      if (gateway !== "PAYPAL") await setAcquirerData(tx, id, acquirer);
      real.push(id);
    }
    await recordRoutingRule(tx, { ...contentOf(sandbox), connectionIds: [...real, ...sandbox.connectionIds] });
  });
}

/** Returns what a version says, without its author. */
function contentOf(rule: Omit<RoutingRule, "connectionIds">) {
  const { merchantId, failoverOn, authentication, providerId, policy } = rule;
  return { merchantId, failoverOn, authentication, providerId, policy };
}

type Location = {
  readonly variables: Readonly<Record<string, string>>;
  readonly addresses: DemoAddresses;
  readonly stateFolder: string;
};

/** The gateways of its rule: the two sandbox gateways, or the emulators of STRIPE, ADYEN and PAYPAL as well. */
export type SiteGateways = "sandbox" | "all";

/** Creates a merchant in a cell and verifies its webhook address, which must already answer. */
export async function seedSite(
  location: Location,
  webhookUrl: string,
  { gateways = "sandbox", cell = firstCell }: { gateways?: SiteGateways | undefined; cell?: number } = {},
): Promise<SiteMerchant> {
  const config = readConfig(["worker"], location.variables);
  if (config.service === undefined) throw new Error("the worker's configuration has a service part");
  const log = createLogger({ name: "chaos", level: "error" });
  const installation = await openInstallation({ ...config, service: config.service }, log);
  const accountsVia = (apiOrigin: string) =>
    new SandboxAccounts({ ...location.addresses, apiOrigin, seed: location.stateFolder });
  try {
    const account = cell === firstCell ? "chaos" : `chaos-${cell}`;
    const wanted = { name: "Chaos", account, webhookUrl, hasShop: true, refusesRepeatedOrders: true, testCell: cell };
    const { merchant, verify } = await seedMerchant(installation, accountsVia(location.addresses.apiOrigin), wanted);
    await verify();
    const { core } = installation.environments.find((one) => one.name === "test" && one.cell === cell)!;
    const merchantId = decodeId("mer", merchant.merchantId) ?? "";
    if (gateways === "all") await connectRealOnes(core, merchantId);
    await retrySameGateway(core, merchantId);
    const connections = await listConnections(core.database, merchantId);
    const of = (wanted: string) => connections.find(({ gateway }) => gateway === wanted);
    const site: SiteMerchant = {
      ...merchant.test,
      async sendNotificationsTo(apiOrigin) {
        const accounts = accountsVia(apiOrigin);
        const { id: connectionId, account } = of("SANDBOX_B")!;
        const credentials = accounts.credentialsFor("SANDBOX_B", account);
        await accounts.sendNotificationsTo(account, { environment: "test", connectionId, credentials });
        const adyen = of("ADYEN");
        if (adyen === undefined) return;
        const to = {
          environment: "test",
          connectionId: adyen.id,
          credentials: { notificationHmacKey: notificationKey },
        };
        await accounts.sendNotificationsTo(adyen.account, to);
      },
      async changeRule(databaseUrl, arrange, settings) {
        // Connects for one change: the database may have been restarted since the last one.
        const pool = new Pool({ connectionString: databaseUrl, max: 1, pipeline: true });
        pool.on("error", () => {});
        try {
          await new Database(pool).transaction(async (tx) => {
            const rule = (await findRoutingRule(tx, merchantId))!;
            const connectionIds = arrange(rule.connectionIds);
            await recordRoutingRule(tx, { ...contentOf(rule), ...settings, connectionIds });
          });
        } finally {
          await pool.end();
        }
      },
    };
    await site.sendNotificationsTo(location.addresses.apiOrigin);
    return site;
  } finally {
    await installation.close();
  }
}
