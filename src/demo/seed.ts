/** Creates the demo's merchants by the service's functions: keys, accounts, a routing rule, an endpoint. */
import { openEnvironmentTo } from "../accounts/issue-keys.ts";
import { createMerchant } from "../accounts/merchants.ts";
import { recordRepeatedOrders } from "../core/orders/repeated-orders.ts";
import { recordRoutingRule } from "../core/record/routing-rules.ts";
import { publishKeys, setCountry } from "../dashboard/wallets/set-up-wallets.ts";
import { registerEndpoint, verifyEndpoint } from "../events/endpoints.ts";
import type { AcquirerData } from "../gateways/authentication-provider.ts";
import { recordConnection, setAcquirerData, stageCredentials } from "../gateways/connections.ts";
import { verifyConnection } from "../gateways/verify-connection.ts";
import { firstCell } from "../platform/cells.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import type { Environment } from "../processes/environment.ts";
import type { Installation } from "../processes/installation.ts";
import type { DemoCredentials, DemoMerchant } from "./demo-file.ts";
import { CannotStart } from "./detached-server.ts";
import type { SandboxAccounts } from "./sandbox-accounts.ts";

/** A merchant made by the seed, and a function that verifies its test endpoint once its shop listens. */
export type Seeded = { readonly merchant: DemoMerchant; verify(): Promise<void> };

/**
 * Creates one merchant with everything it needs to accept payments. Only the shop's own endpoint in test is verified.
 * The others are registered so that they have a signing secret, and receive no events until they get their own address.
 */
export async function seedMerchant(
  installation: Installation,
  sandbox: SandboxAccounts,
  wanted: {
    name: string;
    account: string;
    webhookUrl: string;
    hasShop: boolean;
    refusesRepeatedOrders?: boolean;
    testCell?: number;
  },
): Promise<Seeded> {
  const cells = { test: wanted.testCell ?? firstCell, live: firstCell };
  const merchant = { id: systemRuntime.uuid(), name: wanted.name, cells };
  await createMerchant(installation.accounts, merchant);
  const verifications: (() => Promise<void>)[] = [];
  const credentials: Partial<Record<"test" | "live", DemoCredentials>> = {};
  for (const environment of installation.environments) {
    if (environment.cell !== cells[environment.name]) continue;
    const keys = await seedKeys(environment, installation.config.brand, merchant.id);
    // The sandbox gateways accept only test payments; live begins without a gateway, as in any installation.
    if (environment.name === "test") {
      await seedGateways(environment, sandbox, { merchantId: merchant.id, account: `test_${wanted.account}` });
    }
    if (wanted.refusesRepeatedOrders && environment.name === "test") {
      await environment.database.transaction((tx) => recordRepeatedOrders(tx, merchant.id, "REFUSE"));
    }
    const endpoint = await seedEndpoint(environment, merchant.id, wanted.webhookUrl);
    if (wanted.hasShop && environment.name === "test") verifications.push(endpoint.verify);
    if (environment.name === "test") await seedWallets(environment, sandbox, merchant.id, wanted.account);
    credentials[environment.name] = { ...keys, signingSecret: endpoint.signingSecret };
  }
  const { test, live } = credentials;
  if (!test || !live) throw new Error("the demo runs both environments");
  return {
    merchant: { merchantId: encodeId("mer", merchant.id), test, live },
    async verify() {
      for (const verify of verifications) await verify();
    },
  };
}

async function seedKeys({ database, name, cell }: Environment, brand: string, merchantId: string) {
  const maker = { runtime: systemRuntime, brand, environment: name, cell };
  const { secretKey, publishableKey } = await database.transaction((tx) => openEnvironmentTo(tx, maker, merchantId));
  return { secretKey: secretKey.expose(), publishableKey: publishableKey.expose() };
}

/** The demo's merchants at both sandbox acquirers. */
const acquirer: AcquirerData = {
  mcc: "5411",
  country: "DE",
  merchantName: "Sandbox merchant",
  networks: Object.fromEntries(
    ["visa", "mastercard", "amex", "discover", "jcb"].map((network) => [
      network,
      { acquirerBin: "438309", acquirerMerchantId: "00002000000" },
    ]),
  ),
};

/** The exemption that SANDBOX_A's acquirer asks for, up to the first threshold of the European rules. */
const exemptions: AcquirerData["exemptions"] = [{ kind: "RISK_ANALYSIS", currency: "EUR", amountMinor: 10_000 }];

async function seedGateways(
  environment: Environment,
  sandbox: SandboxAccounts,
  owner: { merchantId: string; account: string },
): Promise<void> {
  const connectionIds: string[] = [];
  for (const gateway of ["SANDBOX_A", "SANDBOX_B", "SANDBOX_3DS"] as const) {
    const connectionId = environment.core.runtime.uuid();
    connectionIds.push(connectionId);
    const credentials = await sandbox.credentialsFor(gateway, owner.account);
    const credentialVersion = await environment.database.transaction(async (tx) => {
      await recordConnection(tx, { id: connectionId, merchantId: owner.merchantId, gateway, account: owner.account });
      if (gateway === "SANDBOX_A") await setAcquirerData(tx, connectionId, { ...acquirer, exemptions });
      if (gateway === "SANDBOX_B") await setAcquirerData(tx, connectionId, acquirer);
      return stageCredentials(tx, environment.core.sealing, { connectionId, credentials });
    });
    if (gateway === "SANDBOX_B") {
      await sandbox.sendNotificationsTo(owner.account, { environment: environment.name, connectionId, credentials });
    }
    const { core } = environment;
    const connector = gateway === "SANDBOX_3DS" ? core.providerOf(gateway)! : core.connectorOf(gateway)!;
    const { verified, rows } = await verifyConnection(
      {
        database: environment.database,
        ring: environment.core.sealing,
        connector,
        forwarding: environment.core.vault.forwarding,
      },
      { connectionId, credentialVersion },
    );
    if (!verified) throw new CannotStart(`${gateway} was not verified: ${JSON.stringify(rows, null, 1)}`);
  }
  const [first, second, providerId] = connectionIds;
  await environment.database.transaction((tx) =>
    recordRoutingRule(tx, {
      merchantId: owner.merchantId,
      connectionIds: [first!, second!],
      providerId,
      policy: { exemptions: ["RISK_ANALYSIS"], stopsIfUnavailable: false, forbidsSecondChallenge: false },
      failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"],
    }),
  );
}

/** Sets up both wallets as the dashboard does; the sandbox issues what Apple would. */
async function seedWallets(environment: Environment, sandbox: SandboxAccounts, merchantId: string, account: string) {
  const { core, database } = environment;
  const keys = core.vault.walletKeys!;
  const parts = { merchantId, keys, sealing: core.sealing, now: core.runtime.now() };
  const merchantIdentifier = `merchant.example.${account}`;
  const apple = await keys.create({ merchantId, wallet: "apple_pay", recipient: merchantIdentifier });
  const certificate = await sandbox.issueCertificate(merchantIdentifier, apple.signingRequest);
  await keys.activate({ merchantId, id: apple.id, certificate });
  const google = await keys.create({ merchantId, wallet: "google_pay", recipient: "BCR2DN4T263K6XYZ" });
  await keys.activate({ merchantId, id: google.id, certificate: new Uint8Array() });
  const listed = await keys.list(merchantId);
  await database.transaction(async (tx) => {
    await setCountry(tx, parts, "DE");
    await publishKeys(tx, parts, listed);
  });
}

async function seedEndpoint(environment: Environment, merchantId: string, url: string) {
  const { endpoint, signingSecret } = await registerEndpoint(environment.endpoints, { merchantId, url });
  return {
    signingSecret: signingSecret.expose(),
    async verify() {
      const { verified } = await verifyEndpoint(environment.endpoints, { merchantId, endpointId: endpoint.id });
      if (!verified) throw new CannotStart(`The shop's webhook address ${url} did not accept the test event.`);
    },
  };
}
