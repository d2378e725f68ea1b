/** The one merchant of a chaos run, made by the service's own functions as in the demo. */
import { openInstallation } from "../../app.ts";
import { readConfig } from "../../config.ts";
import type { DemoCredentials } from "../../demo/demo-file.ts";
import type { DemoAddresses } from "../../demo/ports.ts";
import { SandboxAccounts } from "../../demo/sandbox-accounts.ts";
import { seedMerchant } from "../../demo/seed.ts";
import { listConnections } from "../../gateways/connections.ts";
import { decodeId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/log.ts";

/** The merchant's credentials, and a way to send its notices to another edge. */
export type SiteMerchant = DemoCredentials & {
  /** Where SANDBOX_B posts its notices from now on. */
  sendNoticesTo(apiOrigin: string): Promise<void>;
};

type Place = {
  readonly variables: Readonly<Record<string, string>>;
  readonly addresses: DemoAddresses;
  readonly stateFolder: string;
};

/** Makes the merchant and verifies its webhook address, which has to answer by then. */
export async function seedSite(place: Place, webhookUrl: string): Promise<SiteMerchant> {
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
    const { database } = installation.environments.find(({ name }) => name === "test")!;
    const connections = await listConnections(database, decodeId("mer", merchant.merchantId) ?? "");
    const { id: connectionId, account } = connections.find(({ gateway }) => gateway === "SANDBOX_B")!;
    return {
      ...merchant.test,
      sendNoticesTo(apiOrigin) {
        const accounts = accountsVia(apiOrigin);
        const credentials = accounts.credentialsFor("SANDBOX_B", account);
        return accounts.sendNoticesTo(account, { environment: "test", connectionId, credentials });
      },
    };
  } finally {
    await installation.close();
  }
}
