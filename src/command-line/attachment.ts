/** How a command finds the installation it works on: a demo's state folder, or an address and a secret. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Command, Option } from "commander";
import { createDashboardClient, type DashboardClient } from "../client/dashboard-client.ts";
import { RpcError } from "../client/rpc-error.ts";
import { readCommandLineVariables } from "../config.ts";
import { type DemoFile, readDemoFile } from "../demo/demo-file.ts";
import { Secret } from "../platform/secrets.ts";
import { type OutputOptions, print } from "./output.ts";

/** A mistake in how a command was called; its message says what to do instead. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Where the installation is. */
export type AttachOptions = OutputOptions & {
  readonly demo: string;
  readonly grpcAddress?: string;
  readonly operatorTokenFile?: string;
};

/** Whose configuration, and on which side. */
export type ScopeOptions = EnvironmentOptions & { readonly merchant?: string };

/** On which side. */
export type EnvironmentOptions = { readonly environment: "test" | "live" };

type EnvironmentScope = { readonly environment: "ENVIRONMENT_TEST" | "ENVIRONMENT_LIVE" };
type Scope = EnvironmentScope & { readonly merchantId: string };

/** A command with an example in its help, and --json. */
export function describedCommand(name: string, about: { description: string; example: string }): Command {
  return new Command(name)
    .description(about.description)
    .option("--json", "print the answer as JSON")
    .addHelpText("after", `\nExample:\n  ${about.example}`);
}

/** A command that calls the dashboard's rpcs as an operator. */
export function operatorCommand(name: string, about: { description: string; example: string }): Command {
  return addAttachment(describedCommand(name, about));
}

/** Adds the options that name an installation and let an operator in. */
export function addAttachment(command: Command): Command {
  return command
    .option("--demo <folder>", "state folder of a running demo", ".switchyard")
    .option("--grpc-address <host:port>", "gRPC address of an installation, instead of a demo")
    .option("--operator-token-file <file>", "holds the operator token; or set SWITCHYARD_OPERATOR_TOKEN");
}

/** An operator's command about one merchant in one environment. */
export function merchantCommand(name: string, about: { description: string; example: string }): Command {
  return addScope(operatorCommand(name, about));
}

/** An operator's command about one environment, whichever merchant's things are in it. */
export function environmentCommand(name: string, about: { description: string; example: string }): Command {
  return addEnvironment(operatorCommand(name, about));
}

/** Adds --merchant and --environment. */
export function addScope(command: Command): Command {
  return addEnvironment(addMerchant(command));
}

/** Adds --merchant alone. */
export function addMerchant(command: Command): Command {
  return command.option("--merchant <id>", "the merchant; in a demo its first one when not given");
}

function addEnvironment(command: Command): Command {
  return command.addOption(new Option("--environment <name>", "which side").choices(["test", "live"]).default("test"));
}

/** Makes one call as an operator and prints the answer; `lines` says it to a person. */
export async function administer<Answer extends object>(
  options: AttachOptions,
  call: (dashboard: DashboardClient) => Promise<Answer>,
  lines: (answer: Answer) => readonly string[],
): Promise<Answer> {
  const { grpcAddress, operatorToken } = attach(options);
  const dashboard = createDashboardClient(grpcAddress, operatorToken);
  try {
    const answer = await call(dashboard);
    print(options, answer, lines);
    return answer;
  } catch (error) {
    throw isSilence(error) && isDemo(options) && !options.json
      ? new UsageError(`${error.message} ${isItRunning}`)
      : error;
  } finally {
    dashboard.close();
  }
}

/** What to ask when nothing answers where a demo was. */
export const isItRunning = "Is the demo running? To start it: npm start";

/** Whether nobody answered, which is not a refusal: those have a request's id. */
export function isSilence(error: unknown): error is RpcError {
  return error instanceof RpcError && error.code === "unavailable" && error.requestId === undefined;
}

/** The merchant and side that the options name, as requests carry them. */
export function scopeOf(options: AttachOptions & ScopeOptions): Scope {
  const merchantId = options.merchant ?? (isDemo(options) ? demoOf(options).merchants[0]?.merchantId : undefined);
  if (merchantId === undefined) throw new UsageError("Say whose with --merchant mer_….");
  return { merchantId, ...environmentOf(options) };
}

/** The side that the options name, as requests carry it. */
export function environmentOf({ environment }: EnvironmentOptions): EnvironmentScope {
  return { environment: environment === "live" ? "ENVIRONMENT_LIVE" : "ENVIRONMENT_TEST" };
}

/** Whether the command works on a demo. */
export function isDemo(options: Pick<AttachOptions, "grpcAddress">): boolean {
  return options.grpcAddress === undefined;
}

/** What the demo wrote for programs that attach. Throws UsageError when there is none. */
export function demoOf(options: { readonly demo: string }): DemoFile {
  const file = readDemoFile(resolve(options.demo));
  if (file !== undefined) return file;
  throw new UsageError(
    `There is no demo in ${options.demo}: start one with \`npm start\`, name its folder with --demo, or name an installation by its address and a secret (see --help).`,
  );
}

/** A secret's file, without the line's end that editors add. */
export function readSecretFile(file: string): Secret {
  return new Secret(readFileSync(file, "utf8").trim());
}

/** Where the options lead, and the operator that they let in. Throws UsageError when they do not say. */
export function attach(options: AttachOptions): { grpcAddress: string; operatorToken: Secret } {
  if (options.grpcAddress === undefined) {
    const { grpcAddress, operatorToken } = demoOf(options);
    return { grpcAddress, operatorToken: new Secret(operatorToken) };
  }
  const operatorToken = options.operatorTokenFile
    ? readSecretFile(options.operatorTokenFile)
    : readCommandLineVariables().operatorToken;
  if (operatorToken === undefined) {
    throw new UsageError("Give the operator token with --operator-token-file, or set SWITCHYARD_OPERATOR_TOKEN.");
  }
  return { grpcAddress: options.grpcAddress, operatorToken };
}
