/** Tests the npm packages as users get them: correct for every tool, complete, and working when installed. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Problem } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildMedusaPackage } from "../../../integrations/medusa/build-package.ts";
import { buildPackage } from "../../../widget/package/build-package.ts";
import { buildClientPackage } from "./build-client-package.ts";
import { buildClients } from "./build-clients.ts";

const root = join(import.meta.dirname, "../../..");
const run = promisify(execFile);

/** A merchant's project, in which the packages are installed. */
const project = mkdtempSync(join(tmpdir(), "npm-packages-"));
const packages = join(project, "node_modules");
const client = join(packages, "@switchyard", "client");
const widget = join(packages, "@switchyard", "widget");
const medusa = join(packages, "@switchyard", "medusa");

beforeAll(async () => {
  mkdirSync(join(packages, "@types"), { recursive: true });
  for (const name of ["standardwebhooks", "@stablelib", "fast-sha256", "@types/node", "undici-types"]) {
    symlinkSync(join(root, "node_modules", name), join(packages, name));
  }
  await Promise.all([buildClientPackage(client), buildPackage(widget), buildMedusaPackage(medusa)]);
});
afterAll(() => rmSync(project, { recursive: true }));

describe("the npm packages", () => {
  it("have no findings by publint and attw", async () => {
    for (const folder of [client, widget, medusa]) expect(await findPackageProblems(folder), folder).toEqual([]);
  });

  it("have findings when types or a file are missing", async () => {
    const manifest = join(client, "package.json");
    const right = readFileSync(manifest, "utf8");
    writeFileSync(manifest, right.replace('"./main.d.ts"', '"./types.d.ts"').replace('"./main.js"', '"./gone.js"'));
    const found = (await findPackageProblems(client)).join("\n");
    writeFileSync(manifest, right);
    expect(found).toMatch(/publint: .*gone\.js/);
    expect(found).toMatch(/attw: /);
  });
});

describe("@switchyard/client", () => {
  it("compiles and runs in a project that has it installed", async () => {
    const shop = `
import { ApiError, RestClient, RestError, verifyWebhook, WebhookVerificationError } from "@switchyard/client";
import type { PaymentSession, ReceivedWebhook, SessionStatus, WebhookEvent } from "@switchyard/client";
const payments: RestClient = new RestClient({ restBase: "http://127.0.0.1:9/api/v1", secretKey: "sk", triesMax: 1 });
const statusOf = (session: PaymentSession): SessionStatus => session.status;
const failure: unknown = await payments.getSession("ps_1").then(statusOf).catch((error: unknown) => error);
const request: ReceivedWebhook = { body: "{}", headers: {}, secrets: "whsec_c2VjcmV0" };
let event: WebhookEvent | undefined;
try { event = verifyWebhook(request); } catch (error) {
  const isRefused = error instanceof WebhookVerificationError && error.reason === "missing_header";
  const isOurs = failure instanceof ApiError && failure instanceof RestError && failure.code === "unavailable";
  console.log(JSON.stringify({ isRefused, isOurs, event }));
}
`;
    writeFileSync(join(project, "shop.ts"), shop);
    writeFileSync(join(project, "package.json"), '{ "type": "module" }');
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    // Not skipLibCheck: the package's own types are checked too.
    const strict = ["--strict", "--module", "nodenext", "--target", "es2022", "--types", "node", "shop.ts"];
    await run(process.execPath, [tsc, ...strict], { cwd: project });
    const { stdout } = await run(process.execPath, ["shop.js"], { cwd: project });
    expect(JSON.parse(stdout)).toEqual({ isRefused: true, isOurs: true });
  });
});

describe("npm run package-clients", () => {
  it("writes the same archives each time, with right checksums and without anything of the tests", {
    timeout: 120_000,
  }, async () => {
    const folder = join(project, "clients");
    const names = await buildClients(folder);
    const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8");
    await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: folder });
    const { stdout } = await run("sh", ["-c", "for archive in *gz; do tar -tzf $archive; done"], { cwd: folder });
    for (const file of [
      "switchyard.py",
      "pyproject.toml",
      "composer.json",
      "Webhook.php",
      "payments/v1/refund.proto",
    ]) {
      expect(stdout).toContain(`/${file}\n`);
    }
    expect(stdout).not.toMatch(/test|dashboard|__pycache__/);
    expect(names).toHaveLength(4);
    await buildClients(folder);
    expect(readFileSync(join(folder, "SHA256SUMS"), "utf8")).toBe(sums);
  });
});

// By its file: in Vitest the package's name leads to its sources in TypeScript, which Node refuses below node_modules.
const attw = join(import.meta.dirname, "../../../node_modules/@arethetypeswrong/core/dist/index.js");
const { checkPackage, Package }: typeof import("@arethetypeswrong/core") = await import(attw);

/** Returns a line for each finding; none for a package that users' tools read correctly. */
async function findPackageProblems(folder: string): Promise<string[]> {
  return [...(await lintPackage(folder)), ...(await checkTypes(folder))];
}

async function lintPackage(folder: string): Promise<string[]> {
  // The whole folder is published.
  const { messages, pkg } = await publint({ pkgDir: folder, pack: false, level: "suggestion", strict: true });
  return messages.map((message) => `publint: ${formatMessage(message, pkg) ?? message.code}`);
}

async function checkTypes(folder: string): Promise<string[]> {
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const files = paths.map((path) => [path.replace(folder, `/node_modules/${name}`), readFileSync(path, "utf8")]);
  const result = await checkPackage(new Package(Object.fromEntries(files), name, version));
  if (result.types === false) return ["attw: there are no types"];
  return result.problems.filter(concernsModules).map((problem) => `attw: ${problem.kind} ${JSON.stringify(problem)}`);
}

// Filters problems. Both packages are only ES modules, and say so in their exports: require() of older Node and
// resolution without exports (node10) are not supported. This is attw's profile "esm-only".
function concernsModules(problem: Problem): boolean {
  const isOlder = "resolutionKind" in problem && /^(node10|node16-cjs)$/.test(problem.resolutionKind);
  return !isOlder;
}
