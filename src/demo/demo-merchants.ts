/** The demo's two merchants, created on the first start. The second serves to test tenant isolation. */
import { asOwner, grantRoles, insertMember } from "../accounts/members.ts";
import { findMerchant } from "../accounts/merchants.ts";
import { generateOperatorToken, insertOperatorToken } from "../accounts/operator-tokens.ts";
import { hashPassword } from "../accounts/passwords.ts";
import { listConnections } from "../gateways/connections.ts";
import { decodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { Secret } from "../platform/secrets.ts";
import type { Installation } from "../processes/installation.ts";
import { type DemoFile, type DemoMerchant, readDemoFile } from "./demo-file.ts";
import type { SandboxAccounts } from "./sandbox-accounts.ts";
import { type Seeded, seedMerchant } from "./seed.ts";
import { moveShopEndpoint } from "./shop-endpoint.ts";

/** The demo's merchants; the first one has the shop. */
export type DemoMerchants = {
  readonly credentials: Pick<DemoFile, "merchants" | "operatorToken" | "member">;
  /** Verifies the shop's endpoint when it is new, and closes the databases. Call it once the shop listens. */
  finish(): Promise<void>;
};

type Preparation = {
  installation: Installation;
  sandbox: SandboxAccounts;
  stateFolder: string;
  webhookUrl: string;
};

/** Creates or finds the merchants. Every start sets their addresses again: the ports may differ. */
export async function prepareMerchants(preparation: Preparation): Promise<DemoMerchants> {
  const known = await findKnown(preparation);
  if (known !== undefined) {
    await setNotificationAddresses(preparation, known.merchants);
    await setShopAddress(preparation, known.merchants[0]!);
  }
  const seeded = known === undefined ? await seedBoth(preparation) : [];
  const merchants = known?.merchants ?? seeded.map(({ merchant }) => merchant);
  const credentials = {
    merchants,
    operatorToken: known?.operatorToken ?? (await makeOperatorToken(preparation.installation)),
    member: known?.member ?? (await makeMember(preparation.installation, merchants)),
  };
  return {
    credentials,
    async finish() {
      for (const { verify } of seeded) await verify();
      await preparation.installation.close();
    },
  };
}

async function findKnown({ stateFolder, installation }: Preparation) {
  const file = readDemoFile(stateFolder);
  const id = decodeId("mer", file?.merchants[0]?.merchantId ?? "");
  if (file === undefined || id === undefined) return undefined;
  const isThere = (await findMerchant(installation.accounts, id)) !== undefined;
  return isThere ? file : undefined;
}

async function seedBoth({ installation, sandbox, webhookUrl }: Preparation): Promise<Seeded[]> {
  return [
    await seedMerchant(installation, sandbox, {
      name: "Roundhouse",
      account: "roundhouse",
      webhookUrl,
      hasShop: true,
      refusesRepeatedOrders: true,
    }),
    await seedMerchant(installation, sandbox, {
      name: "Another Shop",
      account: "another-shop",
      webhookUrl,
      hasShop: false,
    }),
  ];
}

async function setNotificationAddresses(
  { installation, sandbox }: Preparation,
  merchants: readonly DemoMerchant[],
): Promise<void> {
  for (const { name, database } of installation.environments) {
    for (const { merchantId } of merchants) {
      const connections = await listConnections(database, decodeId("mer", merchantId) ?? "");
      for (const { id, gateway, account } of connections) {
        if (gateway !== "SANDBOX_B") continue;
        const credentials = sandbox.credentialsFor("SANDBOX_B", account);
        await sandbox.sendNotificationsTo(account, { environment: name, connectionId: id, credentials });
      }
    }
  }
}

async function setShopAddress({ installation, webhookUrl }: Preparation, { merchantId }: DemoMerchant): Promise<void> {
  const test = installation.environments.find(({ name }) => name === "test");
  if (test) await moveShopEndpoint(test, { merchantId: decodeId("mer", merchantId) ?? "", url: webhookUrl });
}

async function makeOperatorToken(installation: Installation): Promise<string> {
  const token = generateOperatorToken(systemRuntime, installation.config.brand);
  await insertOperatorToken(installation.accounts, { id: systemRuntime.uuid(), label: "demo", token });
  return token.expose();
}

async function makeMember({ accounts }: Installation, merchants: readonly DemoMerchant[]): Promise<DemoFile["member"]> {
  const password = Buffer.from(systemRuntime.randomBytes(12)).toString("base64url");
  const member = { id: systemRuntime.uuid(), email: "owner@example.com", name: "Demo Owner" };
  const hash = await hashPassword(new Secret(password));
  await accounts.transaction(async (tx) => {
    await insertMember(tx, member, hash);
    for (const { merchantId } of merchants) await grantRoles(tx, decodeId("mer", merchantId) ?? "", member.id, asOwner);
  });
  return { email: member.email, password };
}
