/** Tests the npm packages as users get them: correct for every tool, complete, and working when installed. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildMedusaPackage } from "../../../integrations/medusa/build-package.ts";
import { buildPackage } from "../../../widget/package/build-package.ts";
import { buildClientPackage } from "./build-client-package.ts";
import { buildClients } from "./build-clients.ts";
import { findPackageProblems } from "./package-findings.ts";

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
