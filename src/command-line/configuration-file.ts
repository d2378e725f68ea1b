/** `switchyard export`, `plan` and `apply`: a merchant's configuration in a file of a repository. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, Option } from "commander";
import type { ChangeView, ConfigurationView, DashboardClient, PlanView } from "../client/dashboard-client.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";
import { shown } from "./output.ts";

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
    description: "show the changes that a file would make; exits with 0 for none and 2 for some",
    example: "switchyard plan checkout.yaml",
  })
    .argument("<file>", "the configuration as YAML or JSON; - for standard input")
    .action(async (file: string, options: MerchantOptions) => {
      const { desired, scope } = await readConfiguration(file, options);
      const { changes = [] } = await administer(
        options,
        async ({ configuration }) => ({ ...(await configuration.planConfiguration({ ...scope, desired })), desired }),
        (plan) =>
          describePlan(
            plan,
            "No change: the configuration is as the file says.",
            "  (removes something: --allow-removals)",
          ),
      );
      if (changes.length > 0) process.exitCode = 2;
    });
}

export function applyCommand(): Command {
  return merchantCommand("apply", {
    description: "make the configuration what a file says: all of its changes, or none",
    example: "switchyard plan checkout.yaml --json > plan.json; switchyard apply checkout.yaml --plan plan.json",
  })
    .argument("<file>", "the configuration as YAML or JSON; - for standard input")
    .option("--plan <file>", "output of `plan --json`; fails if the configuration or the file has changed since")
    .option("--allow-removals", "also remove connections and cases of the rule, origins and endpoints")
    .addOption(
      new Option(
        "--secrets-to <folder>",
        "folder for the signing secrets of added endpoints, a file of mode 0600 each",
      ),
    )
    .action(async (file: string, options: ApplyOptions) => {
      const { desired, scope } = await readConfiguration(file, options);
      const saved = options.plan === undefined ? undefined : readPlan(options.plan, desired);
      await administer(
        options,
        async ({ configuration }) => {
          const { changes = [], revision = "" } =
            saved ?? (await configuration.planConfiguration({ ...scope, desired }));
          requireSecretsFolder(changes, options);
          const request = { ...scope, desired, revision, allowRemovals: options.allowRemovals === true };
          const { addedEndpoints = [], ...applied } = await configuration.applyConfiguration(request);
          return { ...applied, addedEndpoints: addedEndpoints.map((added) => keepSecret(added, options)) };
        },
        ({ addedEndpoints, ...applied }) => [
          ...describePlan(applied, "No change: the configuration is as the file says."),
          ...addedEndpoints.map(
            ({ endpointId, secretIn }) =>
              `The signing secret is in ${secretIn}. Verify the endpoint: switchyard rpc WebhookEndpointService/VerifyWebhookEndpoint '{"endpointId": "${endpointId}"}'`,
          ),
        ],
      );
    });
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
  return { desired: desired as ConfigurationView, scope };
}

function readPlan(file: string, desired: ConfigurationView): PlanView {
  const plan = JSON.parse(readFileSync(file, "utf8")) as PlanView & SavedPlan;
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

function describePlan({ changes = [] }: PlanView, nothing: string, hint = ""): readonly string[] {
  if (changes.length === 0) return [nothing];
  return changes.flatMap(({ path = "", kind = "", sentences = [], removes }) => [
    `${marks[kind] ?? " "} ${shown(path)}${removes ? hint : ""}`,
    ...sentences.map((sentence) => `    ${shown(sentence)}`),
  ]);
}
