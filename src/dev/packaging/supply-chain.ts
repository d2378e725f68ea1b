/** `npm run supply-chain`: checks licences and known vulnerabilities, and writes an SBOM. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import packageJson from "../../../package.json" with { type: "json" };
import { type AuditAnswer, readAuditAnswer } from "./audit-answer.ts";
import { countLicences, findLicenceProblems, type LockedPackages } from "./licences.ts";

const root = join(import.meta.dirname, "../../..");
const run = promisify(execFile);
// The SBOM of 130 packages is 100 KB.
const outputBytesMax = 16 * 1024 * 1024;
// A registry that is silent for this long does not answer.
const answerWithinMs = 60_000;

function checkLicences(): boolean {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as { packages: LockedPackages };
  const problems = findLicenceProblems(lock.packages);
  const counts = [...countLicences(lock.packages)].toSorted(([, one], [, other]) => other - one);
  console.log(`Licences: ${counts.map(([name, count]) => `${name} ${count}`).join(", ")}`);
  for (const problem of problems) console.error(`  not allowed: ${problem}`);
  return problems.length === 0;
}

async function writePartsList(folder: string): Promise<void> {
  const args = [
    "sbom",
    "--package-lock-only",
    "--sbom-format",
    "cyclonedx",
    "--sbom-type",
    "application",
    "--omit",
    "dev",
  ];
  const { stdout } = await run("npm", args, { cwd: root, maxBuffer: outputBytesMax });
  const list = JSON.parse(stdout);
  // npm names a private project by its folder.
  list.metadata.component.name = packageJson.name;
  const file = join(folder, `switchyard-${packageJson.version}.cdx.json`);
  writeFileSync(file, `${JSON.stringify(list, null, 2)}\n`);
  console.log(`SBOM: ${list.components.length} packages of production, CycloneDX ${list.specVersion}, in ${file}`);
}

async function audit(): Promise<AuditAnswer> {
  // .npmrc turns audits off for every install.
  const args = ["audit", "--json", "--audit=true", "--omit", "dev"];
  const options = { cwd: root, maxBuffer: outputBytesMax, timeout: answerWithinMs };
  const stdout = await run("npm", args, options).then(
    (done) => done.stdout,
    // It exits with 1 when it finds something, and when no registry answers.
    (failed: { stdout?: string }) => failed.stdout ?? "",
  );
  return readAuditAnswer(stdout);
}

const folder = join(root, ".switchyard", "supply-chain");
mkdirSync(folder, { recursive: true });
const isLicensed = checkLicences();
await writePartsList(folder);
const answer = await audit();
console.log(`Audit: ${answer.line}`);
// A release requires an answer; a machine without a registry can still run the rest.
const mustAnswer = process.argv.includes("--require-audit");
const isSound = answer.kind === "clean" || (answer.kind === "unanswered" && !mustAnswer);
process.exitCode = isLicensed && isSound ? 0 : 1;
