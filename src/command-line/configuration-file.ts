/** `switchyard export`, `plan` and `apply`: a merchant's configuration in a file of a repository. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, Option } from "commander";
import type { ChangeView, ConfigurationView, DashboardClient, PlanView } from "../client/dashboard-client.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";
import { takeSources } from "./file-credentials.ts";
import { shown } from "./output.ts";
import type { ReportedChange } from "./plan-report.ts";

type ApplyOptions = MerchantOptions & {
  readonly plan?: string;
  readonly allowRemovals?: true;
  readonly secretsTo?: string;
};

/** A plan as `plan --json` prints it. */
type SavedPlan = { readonly revision: string; readonly desired: ConfigurationView };

export function exportCommand(): Command {
  return merchantCommand("export", {
    description: "print the configuration as YAML, or with --json as JSON",
    example: "switchyard export --environment test > checkout.yaml",
  }).action(async (options: MerchantOptions) => {
    const { stringify } = await import("yaml");
    const scope = scopeOf(options);
    await administer(
      options,
      async ({ configuration }) => {
        const { configuration: held = {} } = await configuration.getConfiguration(scope);
        return { merchant: scope.merchantId, environment: options.environment, ...held };
      },
      (file) => [stringify(file).trimEnd()],
    );
  });
}

export function planCommand(): Command {
  return merchantCommand("plan", {
    description:
      "show the changes that a file would make, who made the differences, and what a changed rule had meant for past payments; exits with 0 for no change and 2 for some",
    example: "switchyard plan checkout.yaml",
  })
    .argument("<file>", "the configuration as YAML or JSON; - for standard input")
    .action(async (file: string, options: MerchantOptions) => {
      const { desired, scope } = await readConfiguration(file, options);
      const { simulate, whatIfLines, withLastChanges } = await import("./plan-report.ts");
      const { changes } = await administer(
        options,
        async (dashboard) => {
          const plan = await dashboard.configuration.planConfiguration({ ...scope, desired });
          const changes = await withLastChanges(dashboard, scope, plan.changes ?? []);
          const whatIf = plan.draft && (await simulate(dashboard, scope, plan.draft));
          return { revision: plan.revision ?? "", changes, desired, ...(whatIf && { whatIf }) };
        },
        (plan) => [
          ...describePlan(plan, unchanged, "  (removes something: --allow-removals)"),
          ...(plan.whatIf ? whatIfLines(plan.whatIf) : []),
        ],
      );
      if (changes.length > 0) process.exitCode = 2;
    });
}

const unchanged = "No change: the configuration is as the file says.";

export function applyCommand(): Command {
  return merchantCommand("apply", {
    description:
      "make the configuration what a file says: new credentials are verified first, then all other changes are made, or none",
    example: "switchyard plan checkout.yaml --json > plan.json; switchyard apply checkout.yaml --plan plan.json",
  })
    .argument("<file>", "the configuration as YAML or JSON; - for standard input")
    .option("--plan <file>", "output of `plan --json`; fails if the configuration or the file has changed since")
    .option(
      "--allow-removals",
      "also remove connections and cases of the rule, origins, endpoints and addresses, and pause connections",
    )
    .addOption(
      new Option(
        "--secrets-to <folder>",
        "folder for the signing secrets of added endpoints, a file of mode 0600 each",
      ),
    )
    .action(async (file: string, options: ApplyOptions) => {
      const read = await readConfiguration(file, options);
      const saved = options.plan === undefined ? undefined : readPlan(options.plan, read.desired);
      await administer(options, (dashboard) => apply(dashboard, { ...read, saved, options }), describeApplied);
    });
}

type Applying = Awaited<ReturnType<typeof readConfiguration>> & {
  readonly saved: PlanView | undefined;
  readonly options: ApplyOptions;
};

async function apply(dashboard: DashboardClient, { desired, scope, sources, saved, options }: Applying) {
  const { requireSameRest, verifyCredentials, waitingIn } = await import("./file-credentials.ts");
  const plan = () => dashboard.configuration.planConfiguration({ ...scope, desired });
  const planned = saved ?? (await plan());
  const { changes = [] } = planned;
  requireSecretsFolder(changes, options);
  requireAllowed(changes, options);
  const waiting = waitingIn(changes);
  let revision = planned.revision ?? "";
  if (waiting.length > 0) {
    if (saved && (await plan()).revision !== saved.revision) {
      throw new UsageError("The configuration has changed since the plan was made. Plan again.");
    }
    await verifyCredentials(dashboard, scope, { waiting, sources });
    const now = await plan();
    requireSameRest(changes, now.changes ?? [], waiting);
    revision = now.revision ?? "";
  }
  const request = { ...scope, desired, revision, allowRemovals: options.allowRemovals === true };
  const { addedEndpoints = [], ...applied } = await dashboard.configuration.applyConfiguration(request);
  const kept = addedEndpoints.map((added) => keepSecret(added, options));
  const verified = [];
  for (const { endpointId, ...endpoint } of kept) {
    const answer = await dashboard.endpoints.verifyWebhookEndpoint({ ...scope, endpointId });
    const { verified: isVerified = false, statusCode, noAnswer } = answer;
    verified.push({ ...endpoint, endpointId, verified: isVerified, answer: noAnswer ?? String(statusCode) });
  }
  const connected = waiting.map(({ path = "" }) => path);
  return { ...applied, verifiedCredentials: connected, addedEndpoints: verified };
}

function describeApplied({ addedEndpoints, verifiedCredentials, ...applied }: Awaited<ReturnType<typeof apply>>) {
  const nothing = verifiedCredentials.length === 0 ? unchanged : "Nothing else has changed.";
  return [
    ...verifiedCredentials.map((path) => `+ ${shown(path)}\n    Its credentials are verified and in use.`),
    ...describePlan(applied, nothing),
    ...addedEndpoints.flatMap(({ endpointId, url, secretIn, verified, answer }) => [
      `The signing secret of ${url} is in ${secretIn}.`,
      verified
        ? "    It is verified: events are posted to it."
        : `    It is not verified yet (${answer}). Give its server the secret, then: switchyard rpc WebhookEndpointService/VerifyWebhookEndpoint '{"endpointId": "${endpointId}"}'`,
    ]),
  ];
}

/** Refuses changes before credentials are verified for them. */
function requireAllowed(changes: readonly ChangeView[], { allowRemovals }: ApplyOptions): void {
  const removing = changes.filter(({ removes }) => removes).map(({ path }) => path);
  if (allowRemovals || removing.length === 0) return;
  throw new UsageError(`Something is removed at ${removing.join(", ")}. If this is meant, add --allow-removals.`);
}

/** Reads the file. `merchant` and `environment` in it choose the scope, unless the options name another one. */
async function readConfiguration(file: string, options: MerchantOptions) {
  const { parse } = await import("yaml");
  const { loadConfigurationSchema } = await import("../client/dashboard-client.ts");
  const { fromJson } = await import("@bufbuild/protobuf");
  let content: unknown;
  try {
    content = parse(readFileSync(file === "-" ? process.stdin.fd : file, "utf8"));
  } catch (error) {
    throw new UsageError(`${file}: ${(error as Error).message}`);
  }
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new UsageError(`${file}: The configuration must have sections, such as routing; see switchyard export.`);
  }
  const { merchant, environment, ...desired } = content as Record<string, unknown>;
  const sources = takeSources(file, desired);
  if (environment !== undefined && environment !== "test" && environment !== "live") {
    throw new UsageError(`${file}: environment must be test or live.`);
  }
  if (merchant !== undefined && typeof merchant !== "string") throw new UsageError(`${file}: merchant must be an id.`);
  if (options.merchant !== undefined && merchant !== undefined && options.merchant !== merchant) {
    throw new UsageError(`${file} is of ${merchant}, and --merchant names ${options.merchant}.`);
  }
  try {
    fromJson((await loadConfigurationSchema()).ConfigurationSchema, desired as never);
  } catch (error) {
    throw new UsageError(`${file}: ${String((error as Error).message)}`);
  }
  const scope = scopeOf({ ...options, ...(environment && { environment }), ...(merchant && { merchant }) });
  return { desired: desired as ConfigurationView, scope, sources };
}

function readPlan(file: string, desired: ConfigurationView): PlanView {
  let plan: PlanView & SavedPlan;
  try {
    plan = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new UsageError(`${file} is no output of \`switchyard plan --json\`: ${(error as Error).message}`);
  }
  if (JSON.stringify(plan.desired) === JSON.stringify(desired)) return plan;
  throw new UsageError(`The file has changed since ${file} was made. Plan again.`);
}

function requireSecretsFolder(changes: readonly ChangeView[], { secretsTo }: ApplyOptions): void {
  const adds = changes.some(({ path = "", kind }) => path.startsWith("webhooks.") && kind === "ADDED");
  if (adds && secretsTo === undefined) {
    throw new UsageError("An endpoint is added: name a folder for its signing secret with --secrets-to.");
  }
  if (secretsTo !== undefined) mkdirSync(secretsTo, { recursive: true, mode: 0o700 });
}

type Added = Awaited<ReturnType<DashboardClient["configuration"]["applyConfiguration"]>>["addedEndpoints"];

function keepSecret({ url, endpointId = "", signingSecret = "" }: NonNullable<Added>[number], options: ApplyOptions) {
  const secretIn = join(options.secretsTo ?? ".", `${endpointId}.secret`);
  if (existsSync(secretIn)) throw new UsageError(`${secretIn} exists already.`);
  writeFileSync(secretIn, `${signingSecret}\n`, { mode: 0o600, flag: "wx" });
  return { url, endpointId, secretIn };
}

const marks: Readonly<Record<string, string>> = { ADDED: "+", CHANGED: "~", REMOVED: "-" };

type Described = { readonly changes?: readonly ReportedChange[] };

function describePlan({ changes = [] }: Described, nothing: string, hint = ""): readonly string[] {
  if (changes.length === 0) return [nothing];
  return changes.flatMap(({ path = "", kind = "", sentences = [], removes, lastChange }) => [
    `${marks[kind] ?? " "} ${shown(path)}${removes ? hint : ""}`,
    ...sentences.map((sentence) => `    ${shown(sentence)}`),
    ...(lastChange ? [`    Last changed by ${shown(lastChange.actor)} at ${lastChange.at}.`] : []),
  ]);
}
