/**
 * Installs what a fresh machine lacks: packages with Node 24 among them, nats-server, a browser for the tests. Runs
 * before "npm start" and "npm test" under any Node, so it is plain JavaScript without packages.
 */
// @ts-check
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runStep, StepFailed } from "./run-step.mjs";

const checkout = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
const stateFolder = join(checkout, ".switchyard");
// Type stripping without a flag, and the version that the packages require.
const nodeMajorMin = 24;
const isForTests = process.argv.includes("--browser");
const needsDevelopment = isForTests || process.argv.includes("--development");

/**
 * Something the product needs. `obtain` is called when `isThere` says no.
 * @typedef {{ name: string, isThere: () => boolean, obtain: () => Promise<void>, nextStep: string }} Need
 */

/** @type {Need} */
const packages = {
  name: "packages",
  isThere: () =>
    existsSync(stampFile()) &&
    readFileSync(stampFile(), "utf8") === stampOf() &&
    (!needsDevelopment || hasDevelopmentPackages()),
  async obtain() {
    // "npm ci" installs what the lock says or fails, but removes node_modules first. Where only the development packages
    // are missing, a demo may be running from it.
    const verb = existsSync(stampFile()) && readFileSync(stampFile(), "utf8") === stampOf() ? "install" : "ci";
    // NODE_ENV and npm's own settings may leave out the development packages.
    const dev = needsDevelopment ? ["--include=dev"] : [];
    const args = [verb, ...dev, "--no-audit", "--no-fund", "--loglevel=error"];
    await runStep({ what: "Installing packages", command: "npm", args, cwd: checkout, soFar: countPackages() });
    writeFileSync(stampFile(), stampOf());
  },
  nextStep: "Check that this machine reaches an npm registry and has room on its disk, then run the command again.",
};

/** @type {Need} */
const node = {
  name: `Node ${nodeMajorMin}`,
  isThere: () => [join(checkout, "node_modules", ".bin", "node"), "node"].some(isNewNode),
  async obtain() {
    throw new StepFailed(`The packages contain no Node ${nodeMajorMin} for ${process.platform}-${process.arch}.`);
  },
  nextStep: `Install Node ${nodeMajorMin} or newer on this machine, or remove node_modules and run the command again.`,
};

/** @type {Need} */
const natsServer = {
  name: "nats-server",
  isThere: () => answers("nats-server") || answers(fetchedNatsServer()),
  async obtain() {
    // Unpacked, not installed: the system stays unchanged and no service starts.
    mkdirSync(dirname(fetchedNatsServer()), { recursive: true });
    const folder = mkdtempSync(join(stateFolder, "nats-server-"));
    try {
      await runApt({ what: "Fetching nats-server", args: ["download", "nats-server"], cwd: folder });
      const archive = readdirSync(folder).find((name) => name.endsWith(".deb")) ?? "";
      const args = ["-x", archive, "unpacked"];
      await runStep({ what: "Unpacking nats-server", command: "dpkg-deb", args, cwd: folder });
      copyFileSync(join(folder, "unpacked", "usr", "sbin", "nats-server"), fetchedNatsServer());
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  nextStep:
    "Put nats-server 2.9 or newer on the PATH (Debian, as root: apt-get install nats-server), " +
    "or use your own server: npm start -- --nats URL.",
};

/** @type {Need} */
const browser = {
  name: "Chromium",
  isThere: () => existsSync("/usr/bin/chromium") && existsSync("/usr/bin/chromium-headless-shell"),
  async obtain() {
    const args = ["install", "-y", "--no-install-recommends", "chromium", "chromium-headless-shell"];
    await runApt({ what: "Installing Chromium for the browser tests", args, cwd: checkout });
  },
  nextStep: "As root: apt-get install chromium chromium-headless-shell. The browser tests look for both in /usr/bin.",
};

/** @type {Need} */
const engines = {
  name: "Firefox and WebKit",
  isThere: () => ["firefox-esr", "WebKitWebDriver", "Xvfb"].every((program) => existsSync(join("/usr/bin", program))),
  async obtain() {
    const args = ["install", "-y", "--no-install-recommends", "firefox-esr", "webkit2gtk-driver", "xvfb"];
    await runApt({ what: "Installing Firefox and WebKit for the long tests", args, cwd: checkout });
  },
  nextStep: "As root: apt-get install firefox-esr webkit2gtk-driver xvfb. The long tests look for them in /usr/bin.",
};

const imageTools = ["buildah", "debootstrap", "runc"];

/** @type {Need} */
const imageBuilder = {
  name: "What builds and runs the container image",
  isThere: () => imageTools.every(answers),
  async obtain() {
    const args = ["install", "-y", "--no-install-recommends", ...imageTools];
    await runApt({ what: "Installing buildah, debootstrap and runc for the test of the image", args, cwd: checkout });
  },
  nextStep: `As root: apt-get install ${imageTools.join(" ")}. Without them, the test of the image is skipped.`,
};

/** Returns the function that counts the packages that are there, of those that every machine gets. */
function countPackages() {
  const { packages: locked = {} } = JSON.parse(readFileSync(join(checkout, "package-lock.json"), "utf8"));
  const wanted = Object.keys(locked).filter((path) => {
    const { optional = false, dev = false } = locked[path];
    return path !== "" && !optional && (needsDevelopment || !dev);
  });
  return () =>
    `, ${wanted.filter((path) => existsSync(join(checkout, path, "package.json"))).length} of ${wanted.length}`;
}

function stampFile() {
  return join(checkout, "node_modules", ".switchyard-set-up");
}

/** Returns a hash that changes if an install would install something else. */
function stampOf() {
  const lock = readFileSync(join(checkout, "package-lock.json"));
  return createHash("sha256").update(lock).update(`${process.platform}-${process.arch}`).digest("hex");
}

function hasDevelopmentPackages() {
  const { devDependencies = {} } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
  return Object.keys(devDependencies).every((name) => existsSync(join(checkout, "node_modules", name)));
}

function fetchedNatsServer() {
  return join(stateFolder, "bin", "nats-server");
}

/** @param {string} command */
function answers(command) {
  return spawnSync(command, ["--version"], { stdio: "ignore" }).status === 0;
}

/** @param {string} command */
function isNewNode(command) {
  const { stdout } = spawnSync(command, ["--version"], { encoding: "utf8" });
  return Number(/^v(\d+)/.exec(stdout ?? "")?.[1] ?? 0) >= nodeMajorMin;
}

/**
 * Runs apt-get, a second time after fetching the package lists when those are missing or older than the packages.
 * @param {{ what: string, args: string[], cwd: string }} step
 */
async function runApt(step) {
  if (!answers("apt-get")) throw new StepFailed("This system has no apt-get.");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = { ...step, command: "apt-get", args: ["-qq", ...step.args], env };
  try {
    await runStep({ ...apt, otherwise: "needs the package lists" });
  } catch {
    await runStep({ ...apt, what: "Fetching Debian's package lists", args: ["-qq", "update"] });
    await runStep(apt);
  }
}

/** @param {Need} need */
async function meet(need) {
  try {
    if (!need.isThere()) await need.obtain();
    if (!need.isThere()) throw new StepFailed("It was downloaded, but does not run on this system.");
    return true;
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    process.stderr.write(`\n${need.name} could not be installed. ${error.message}\n${need.nextStep}\n\n`);
    return false;
  }
}

const wanted = [natsServer, ...(isForTests ? [browser] : []), ...(process.argv.includes("--engines") ? [engines] : [])];
const isReady = (await meet(packages)) && (await meet(node));
// Without nats-server a start can still use another NATS server; the tests need everything.
let hasExtras = isReady;
for (const need of isReady ? wanted : []) hasExtras = (await meet(need)) && hasExtras;
// One test needs it, which is skipped otherwise.
if (isReady && process.argv.includes("--image")) await meet(imageBuilder);
process.exitCode = isReady && (hasExtras || !isForTests) ? 0 : 1;
