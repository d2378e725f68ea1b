/** The one merchant of a chaos run, made by the service's own functions as in the demo. */
import { openInstallation } from "../../app.ts";
import { readConfig } from "../../config.ts";
import type { Core } from "../../core/core.ts";
import { findRoutingRule, recordRoutingRule } from "../../core/routing-rules.ts";
import type { DemoCredentials } from "../../demo/demo-file.ts";
import type { DemoAddresses } from "../../demo/ports.ts";
import { SandboxAccounts } from "../../demo/sandbox-accounts.ts";
import { seedMerchant } from "../../demo/seed.ts";
import { listConnections, recordConnection, recordVerified, stageCredentials } from "../../gateways/connections.ts";
import { systemEntropy } from "../../platform/entropy.ts";
import { decodeId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/log.ts";
import { noticeKey, standInAccounts } from "../../testing/stand-in-accounts.ts";

/** The merchant's credentials, and a way to send its notices to another edge. */
export type SiteMerchant = DemoCredentials & {
  /** Where SANDBOX_B and ADYEN post their notices from now on. */
  sendNoticesTo(apiOrigin: string): Promise<void>;
};

/** Puts STRIPE, ADYEN and PAYPAL before the pretend gateways. */
async function connectRealOnes({ database, sealing }: Core, merchantId: string): Promise<void> {
  await database.transaction(async (tx) => {
    const pretend = (await findRoutingRule(tx, merchantId))!;
    const real: string[] = [];
    for (const gateway of ["STRIPE", "ADYEN", "PAYPAL"] as const) {
      const id = systemEntropy.uuid();
      const account = `test_chaos${gateway.toLowerCase()}`;
      await recordConnection(tx, { id, merchantId, gateway, account });
      const credentials = standInAccounts[gateway].credentials(account);
      const credentialVersion = await stageCredentials(tx, sealing, { connectionId: id, credentials });
      await recordVerified(tx, { connectionId: id, credentialVersion });
      real.push(id);
    }
    const { connectionIds, failoverOn } = pretend;
    await recordRoutingRule(tx, { merchantId, connectionIds: [...real, ...connectionIds], failoverOn });
  });
}

type Place = {
  readonly variables: Readonly<Record<string, string>>;
  readonly addresses: DemoAddresses;
  readonly stateFolder: string;
};

/** Which gateways its rule has: the two pretend ones, or the stand-ins of the real ones before them. */
export type SiteGateways = "pretend" | "all";

/** Makes the merchant and verifies its webhook address, which has to answer by then. */
export async function seedSite(
  place: Place,
  webhookUrl: string,
  gateways: SiteGateways = "pretend",
): Promise<SiteMerchant> {
  const config = readConfig(["worker"], place.variables);
  if (config.service === undefined) throw new Error("the worker's configuration has a service part");
  const log = createLogger({ name: "chaos", level: "error" });
  const installation = await openInstallation({ ...config, service: config.service }, log);
  const accountsVia = (apiOrigin: string) =>
    new SandboxAccounts({ ...place.addresses, apiOrigin, seed: place.stateFolder });
  try {
    const wanted = { name: "Chaos", account: "chaos", webhookUrl, hasShop: true };
    const { merchant, verify } = await seedMerchant(installation, accountsVia(place.addresses.apiOrigin), wanted);
    await verify();
    const { core } = installation.environments.find(({ name }) => name === "test")!;
    const merchantId = decodeId("mer", merchant.merchantId) ?? "";
    if (gateways === "all") await connectRealOnes(core, merchantId);
    const connections = await listConnections(core.database, merchantId);
    const of = (wanted: string) => connections.find(({ gateway }) => gateway === wanted);
    const site: SiteMerchant = {
      ...merchant.test,
      async sendNoticesTo(apiOrigin) {
        const accounts = accountsVia(apiOrigin);
        const { id: connectionId, account } = of("SANDBOX_B")!;
        const credentials = accounts.credentialsFor("SANDBOX_B", account);
        await accounts.sendNoticesTo(account, { environment: "test", connectionId, credentials });
        const adyen = of("ADYEN");
        if (adyen === undefined) return;
        const to = { environment: "test", connectionId: adyen.id, credentials: { notificationHmacKey: noticeKey } };
        await accounts.sendNoticesTo(adyen.account, to);
      },
    };
    await site.sendNoticesTo(place.addresses.apiOrigin);
    return site;
  } finally {
    await installation.close();
  }
}
