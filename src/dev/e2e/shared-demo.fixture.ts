/**
 * Shares one demo among all test files of a worker that only read and pay, because its start takes ten seconds of CPU
 * time. Each file has its own merchants and a member. A file that stops, breaks or configures the installation starts
 * its own.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { asOwner, grantRoles, insertMember } from "../../accounts/members.ts";
import { hashPassword } from "../../accounts/passwords.ts";
import { readConfig } from "../../config/config.ts";
import { type DemoFile, type DemoMerchant, settingsFileName } from "../../demo/demo-file.ts";
import { SandboxAccounts } from "../../demo/sandbox-accounts.ts";
import { seedMerchant } from "../../demo/seed.ts";
import { decodeId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/log.ts";
import { Secret } from "../../platform/secrets.ts";
import { type Installation, openInstallation } from "../../processes/installation.ts";
import { keptInWorker } from "../testing/kept-in-worker.ts";
import { Mailbox } from "../testing/mailbox.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";

/** A shared demo, with this file's own merchants and member in its `file`. The shop is the demo's first merchant's. */
export type SharedDemo = Omit<TestDemo, "restart" | "close"> & {
  readonly shopFile: DemoFile;
  /** Gets all mail of the demo. */
  readonly mailbox: Mailbox;
  /** The options of a command for the file's first merchant. */
  readonly commandOptions: readonly string[];
};

/** Returns the worker's demo with new merchants, each as the demo's own: both sandbox gateways in version 1 of its rule. */
export async function joinTestDemo({ merchants: count = 1 } = {}): Promise<SharedDemo> {
  const { demo, installation, receiver, sandbox, mailbox } = await keptInWorker("demo", startKeptDemo);
  const webhookUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks`;
  const merchants: DemoMerchant[] = [];
  for (let number = 1; number <= count; number++) {
    const account = randomUUID();
    const wanted = { name: `Shop ${account.slice(0, 4)}`, account, webhookUrl, hasShop: true };
    const seeded = await seedMerchant(installation, sandbox, wanted);
    await seeded.verify();
    merchants.push(seeded.merchant);
  }
  const member = await addMember(installation, merchants);
  // Their secrets are among those that the roles' output is searched for.
  const credentials = JSON.stringify({ merchants, member });
  writeFileSync(join(demo.stateFolder, `joined-${randomUUID()}.json`), credentials, { mode: 0o600 });
  const file = { ...demo.file, merchants, member };
  const commandOptions = ["--demo", demo.stateFolder, "--merchant", merchants[0]!.merchantId];
  const { restart: _, close: __, ...shared } = demo;
  return { ...shared, file, shopFile: demo.file, mailbox, commandOptions };
}

async function startKeptDemo() {
  const mailbox = await Mailbox.start();
  const settings = {
    SWITCHYARD_SMTP_URL: `smtp://127.0.0.1:${mailbox.port}`,
    SWITCHYARD_SMTP_FROM: "switchyard@example.com",
  };
  const demo = await startTestDemo(settings, { dashboard: true });
  const variables = parseEnv(readFileSync(join(demo.stateFolder, settingsFileName), "utf8")) as Record<string, string>;
  const config = readConfig(["worker"], variables);
  if (config.service === undefined) throw new Error("the worker's configuration has a service part");
  const log = createLogger({ name: "shared demo", level: "error" });
  const installation = await openInstallation({ ...config, service: config.service }, log);
  const sandbox = new SandboxAccounts({
    sandboxOrigin: demo.sandbox.origin,
    apiOrigin: demo.file.connectOrigin,
    seed: demo.stateFolder,
  });
  const receiver = await acceptWebhooks();
  return {
    demo,
    installation,
    receiver,
    sandbox,
    mailbox,
    async close() {
      receiver.closeAllConnections();
      receiver.close();
      await installation.close();
      await demo.close();
      await mailbox.close();
    },
  };
}

async function acceptWebhooks(): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

async function addMember({ accounts }: Installation, merchants: readonly DemoMerchant[]): Promise<DemoFile["member"]> {
  const password = randomBytes(12).toString("base64url");
  const member = { id: randomUUID(), email: `owner-${randomUUID()}@example.com`, name: "Demo Owner" };
  const hash = await hashPassword(new Secret(password));
  await accounts.transaction(async (tx) => {
    await insertMember(tx, member, hash);
    for (const { merchantId } of merchants) await grantRoles(tx, decodeId("mer", merchantId) ?? "", member.id, asOwner);
  });
  return { email: member.email, password };
}
