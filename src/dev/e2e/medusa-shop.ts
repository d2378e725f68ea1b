/** A whole Medusa from npm with our provider, as docs/medusa.md describes it, and its shop over the admin API. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { buildMedusaPackage } from "../../../integrations/medusa/build-package.ts";
import { testPostgresUrl } from "../testing/postgres.ts";
import { testStateFolder } from "../testing/test-run.ts";

const run = promisify(execFile);

const medusaVersion = "2.21.2";
// Installed once: its thousand packages are none of ours.
const folder = join(testStateFolder, `medusa-${medusaVersion}`);
const cli = join(folder, "node_modules", "@medusajs", "cli", "cli.js");
const admin = { email: "admin@example.com", password: randomBytes(12).toString("hex") };
const providerId = "pp_switchyard_switchyard";
export const laterProviderId = "pp_switchyard_later";
const providerIds = [providerId, laterProviderId];

type MedusaOptions = {
  readonly port: number;
  readonly storefront: string;
  readonly provider: Readonly<Record<string, unknown>>;
};

async function install(): Promise<void> {
  if (!existsSync(cli)) {
    await mkdir(folder, { recursive: true });
    const names = ["medusa", "framework", "cli"].map((name) => [`@medusajs/${name}`, medusaVersion]);
    const { dependencies } = JSON.parse(await readFile(join(testStateFolder, "../package.json"), "utf8"));
    const ours = { standardwebhooks: dependencies.standardwebhooks };
    const manifest = { name: "medusa-shop", private: true, dependencies: { ...Object.fromEntries(names), ...ours } };
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    await run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder });
  }
  await buildMedusaPackage(join(folder, "node_modules", "@switchyard", "medusa"));
}

/** Returns the configuration that the guide shows, with these values, and a second provider that captures later. */
async function configuration(database: string, { port, storefront, provider }: MedusaOptions): Promise<string> {
  const guide = await readFile(join(import.meta.dirname, "../../../docs/medusa.md"), "utf8");
  const [, modules = ""] = /^```js\n(modules: [\s\S]*?)^```$/m.exec(guide) ?? [];
  const later = { resolve: "@switchyard/medusa", id: "later", options: { ...provider, capture: "manual" } };
  const providers = `options: ${JSON.stringify(provider)} }, ${JSON.stringify(later)}],`;
  const options = modules.replace(/options: \{\s+apiOrigin[\s\S]*?^ {6}\],/m, providers);
  if (options === modules) throw new Error("docs/medusa.md shows no options of the provider");
  const cors = { storeCors: storefront, adminCors: storefront, authCors: storefront };
  const http = { ...cors, port, jwtSecret: "a".repeat(32), cookieSecret: "b".repeat(32) };
  const projectConfig = { databaseUrl: database, databaseDriverOptions: { connection: { ssl: false } }, http };
  return `const { defineConfig } = require("@medusajs/framework/utils");
module.exports = defineConfig({ projectConfig: ${JSON.stringify(projectConfig)}, admin: { disable: true }, ${options} });`;
}

async function writeHook(): Promise<void> {
  const guide = await readFile(join(import.meta.dirname, "../../../docs/medusa.md"), "utf8");
  const [, hook] = /^```js\n(import \{ completeCartWorkflow[\s\S]*?)^```$/m.exec(guide) ?? [];
  if (hook === undefined) throw new Error("docs/medusa.md shows no hook");
  const hooks = join(folder, "src/workflows/hooks");
  await mkdir(hooks, { recursive: true });
  await writeFile(join(hooks, "complete-cart.js"), hook);
}

export class MedusaShop {
  readonly origin: string;
  readonly #child: ChildProcess;
  #token = "";
  publishableKey = "";
  #variantId = "";
  #regionId = "";

  private constructor(origin: string, child: ChildProcess) {
    this.origin = origin;
    this.#child = child;
  }

  static async start(options: MedusaOptions): Promise<MedusaShop> {
    await install();
    const name = `medusa_${randomBytes(6).toString("hex")}`;
    const database = Object.assign(new URL(await testPostgresUrl()), { pathname: name }).href;
    const client = new Client({ connectionString: await testPostgresUrl() });
    await client.connect();
    await client.query(`CREATE DATABASE ${name}`).finally(() => client.end());
    await writeFile(join(folder, "medusa-config.js"), await configuration(database, options));
    await writeHook();
    const env = { PATH: "/usr/bin:/bin", HOME: folder, NODE_ENV: "production", MEDUSA_DISABLE_TELEMETRY: "true" };
    const settings = { cwd: folder, env, maxBuffer: 64_000_000 };
    await run(process.execPath, [cli, "db:migrate", "--skip-scripts"], settings);
    await run(process.execPath, [cli, "user", "-e", admin.email, "-p", admin.password], settings);
    const child = spawn(process.execPath, [cli, "start", "--port", String(options.port)], { cwd: folder, env });
    const shop = new MedusaShop(`http://127.0.0.1:${options.port}`, child);
    await shop.said(/Server is ready/i);
    await shop.#furnish();
    return shop;
  }

  /** Waits until Medusa has printed this. */
  said(expected: RegExp): Promise<void> {
    return new Promise((resolve, reject) => {
      let heard = "";
      const hear = (chunk: Buffer) => {
        heard += chunk;
        if (expected.test(heard)) resolve();
      };
      for (const stream of [this.#child.stdout!, this.#child.stderr!]) stream.on("data", hear);
      this.#child.once("exit", () => reject(new Error(`Medusa ended without ${expected}:\n${heard}`)));
    });
  }

  /** Returns what the compiler says of our provider as an IPaymentProvider of this Medusa, and of our hook. */
  async typeErrors(): Promise<string> {
    const lines = [
      'import type { IPaymentProvider } from "@medusajs/framework/types";',
      'import { completeCartWorkflow } from "@medusajs/medusa/core-flows";',
      'import { cartCheck } from "@switchyard/medusa";',
      'import type { SwitchyardProvider } from "../../integrations/medusa/provider.ts";',
      "export const asMedusaSees = (provider: SwitchyardProvider): IPaymentProvider => provider;",
      "completeCartWorkflow.hooks.validate(cartCheck());",
    ];
    await writeFile(join(folder, "types.ts"), lines.join("\n"));
    const modules = join(testStateFolder, "../node_modules");
    const options = ["--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2024", "--noEmit"];
    const types = ["--types", "node", "--typeRoots", join(modules, "@types"), "--allowImportingTsExtensions"];
    const args = [join(modules, "typescript/bin/tsc"), "--ignoreConfig", ...options, ...types, "types.ts"];
    return run(process.execPath, args, { cwd: folder }).then(
      () => "",
      ({ stdout }) => stdout,
    );
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const gone = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    await gone;
  }

  // biome-ignore lint/suspicious/noExplicitAny: Medusa's answers, of which tests read a few fields.
  async admin(path: string, body?: object): Promise<any> {
    const headers = { "content-type": "application/json", authorization: `Bearer ${this.#token}` };
    return call(`${this.origin}/admin${path}`, headers, body);
  }

  // biome-ignore lint/suspicious/noExplicitAny: Medusa's answers, of which tests read a few fields.
  async store(path: string, body?: object): Promise<any> {
    const headers = { "content-type": "application/json", "x-publishable-api-key": this.publishableKey };
    return call(`${this.origin}/store${path}`, headers, body);
  }

  /** Returns the id of a cart with the product, which costs 49 EUR. */
  async fillCart(): Promise<string> {
    const items = [{ variant_id: this.#variantId, quantity: 1 }];
    const { cart } = await this.store("/carts", { region_id: this.#regionId, email: "ada@example.com", items });
    return cart.id;
  }

  /** Asks for another payment session of a cart, with data of the customer's own, as a page can. */
  async openSession(cartId: string): Promise<void> {
    const { payment_collection } = await this.store("/payment-collections", { cart_id: cartId });
    const path = `/payment-collections/${payment_collection.id}/payment-sessions`;
    await this.store(path, { provider_id: providerId, data: { sessionId: "ps_another", amountMinor: 1 } });
  }

  async addToCart(cartId: string): Promise<void> {
    await this.store(`/carts/${cartId}/line-items`, { variant_id: this.#variantId, quantity: 1 });
  }

  /** Returns the orders that were made of payments of a collection, with their payments. */
  async ordersOf(collectionId: string) {
    const fields =
      "+payment_status,+summary,+total,*items,*payment_collections.payments,*payment_collections.payments.captures";
    const { orders } = await this.admin(`/orders?limit=100&fields=${fields},*payment_collections.payments.refunds`);
    type Order = { payment_collections: { id: string }[] };
    return orders.filter(({ payment_collections }: Order) => payment_collections.some(({ id }) => id === collectionId));
  }

  async #furnish(): Promise<void> {
    const headers = { "content-type": "application/json" };
    this.#token = (await call(`${this.origin}/auth/user/emailpass`, headers, admin)).token;
    const { sales_channel } = await this.admin("/sales-channels", { name: "Web" });
    const { api_key } = await this.admin("/api-keys", { title: "Storefront", type: "publishable" });
    await this.admin(`/api-keys/${api_key.id}/sales-channels`, { add: [sales_channel.id] });
    this.publishableKey = api_key.token;
    const place = { name: "Europe", currency_code: "eur", countries: ["de"], payment_providers: providerIds };
    this.#regionId = (await this.admin("/regions", place)).region.id;
    const prices = [{ currency_code: "eur", amount: 49 }];
    const { product } = await this.admin("/products", {
      title: "Lamp",
      status: "published",
      sales_channels: [{ id: sales_channel.id }],
      options: [{ title: "Size", values: ["One"] }],
      variants: [{ title: "One", options: { Size: "One" }, manage_inventory: false, prices }],
    });
    this.#variantId = product.variants[0].id;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: Medusa's answers, of which tests read a few fields.
async function call(url: string, headers: Record<string, string>, body?: object): Promise<any> {
  const post = body && { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(url, { headers, ...post });
  const result = await answer.json();
  if (answer.ok) return result;
  throw new Error(`${answer.status} ${result.message}`);
}
