/** Finds the installation that a command works on: a demo's state folder, or an address and a secret. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { ChannelCredentials } from "@grpc/grpc-js";
import { Command, Option } from "commander";
import type { DashboardClient, DashboardCredential } from "../client/dashboard-client.ts";
import { ApiError } from "../client/merchant/api-error.ts";
import { type DemoFile, readDemoFile } from "../demo/demo-file.ts";
import { Secret } from "../platform/secrets.ts";
import { type OutputOptions, print } from "./output.ts";

/** A mistake in how a command was called; its message says what to do instead. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export type AttachOptions = OutputOptions & {
  readonly demo: string;
  readonly grpcAddress?: string;
  /** Authorities of the server's certificate; without it the connection is not encrypted. */
  readonly tlsCaFile?: string;
  /** The certificate and its key for a server that requires one of its clients. */
  readonly tlsCertFile?: string;
  readonly tlsKeyFile?: string;
  readonly operatorTokenFile?: string;
  readonly service?: string;
  readonly serviceKeyFile?: string;
  /** The cell to work on, instead of the merchant's own. */
  readonly cell?: string;
};

export type ScopeOptions = EnvironmentOptions & { readonly merchant?: string };

type EnvironmentOptions = { readonly environment: "test" | "live" };

export type MerchantOptions = AttachOptions & ScopeOptions;

type EnvironmentScope = { readonly environment: "ENVIRONMENT_TEST" | "ENVIRONMENT_LIVE" };
type Scope = EnvironmentScope & { readonly merchantId: string };

/** Returns a command with an example in its help and the option --json. */
export function describedCommand(name: string, about: { description?: string; example: string }): Command {
  return new Command(name)
    .description(about.description ?? "")
    .option("--json", "print the result as JSON")
    .addHelpText("after", `\nExample:\n  ${about.example}`);
}

export function operatorCommand(name: string, about: { description: string; example: string }): Command {
  return addAttachment(describedCommand(name, about));
}

function addAttachment(command: Command): Command {
  return command
    .option("--demo <folder>", "state folder of a running demo", ".switchyard")
    .option("--grpc-address <host:port>", "gRPC address of an installation, instead of a demo")
    .option("--tls-ca-file <file>", "authority of its certificate, in PEM; the connection is then encrypted")
    .option("--tls-cert-file <file>", "certificate of this client, in PEM, if the server requires one")
    .option("--tls-key-file <file>", "private key of this certificate, in PEM")
    .option("--operator-token-file <file>", "file with the operator token; or set SWITCHYARD_OPERATOR_TOKEN")
    .option("--service <name>", "call as this internal service instead of an operator")
    .option("--service-key-file <file>", "file with the private key of the service")
    .option("--cell <number>", "cell of the environment (default: where the merchant's new sessions are made)");
}

export function merchantCommand(name: string, about: { description: string; example: string }): Command {
  return addScope(operatorCommand(name, about));
}

export function addScope(command: Command): Command {
  return addEnvironment(addMerchant(command));
}

export function addMerchant(command: Command): Command {
  return command.option("--merchant <id>", "id of the merchant (default in a demo: its first one)");
}

function addEnvironment(command: Command): Command {
  return command.addOption(
    new Option("--environment <name>", "environment to use").choices(["test", "live"]).default("test"),
  );
}

/** Makes one call as an operator and prints the answer; `lines` formats it for people. */
export function administer<Answer extends object>(
  options: AttachOptions,
  call: (dashboard: DashboardClient) => Promise<Answer>,
  lines: (answer: Answer) => readonly string[],
): Promise<Answer> {
  return attachedCall(options, async (dashboard) => {
    const answer = await call(dashboard);
    print(options, answer, lines);
    return answer;
  });
}

/** Makes calls as an operator, or as an internal service. */
export async function attachedCall<Answer>(
  options: AttachOptions,
  call: (dashboard: DashboardClient) => Promise<Answer>,
): Promise<Answer> {
  const { createDashboardClient } = await import("../client/dashboard-client.ts");
  const { grpcAddress, credential } = await attach(options);
  const dashboard = createDashboardClient(grpcAddress, credential, options.cell, await channelOf(options));
  try {
    return await call(dashboard);
  } catch (error) {
    if (options.json || !(error instanceof ApiError)) throw error;
    if (isSilence(error) && isDemo(options)) throw new UsageError(`${error.message} ${isItRunning}`);
    if (error.code === "invalid_key" && options.service === undefined)
      throw new UsageError(`${refusedToken} (${error.code}, ${error.requestId})`);
    throw error;
  } finally {
    dashboard.close();
  }
}

async function channelOf({
  tlsCaFile,
  tlsCertFile,
  tlsKeyFile,
}: AttachOptions): Promise<ChannelCredentials | undefined> {
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined))
    throw new UsageError("Give --tls-cert-file and --tls-key-file together.");
  if (tlsCaFile === undefined && tlsCertFile !== undefined)
    throw new UsageError("Give --tls-ca-file with --tls-cert-file: without it the connection is not encrypted.");
  if (tlsCaFile === undefined) return undefined;
  const { credentials } = await import("@grpc/grpc-js");
  const [authority, key, certificate] = [tlsCaFile, tlsKeyFile, tlsCertFile].map((file) =>
    file ? readFileSync(file) : null,
  );
  return credentials.createSsl(authority, key, certificate);
}

const refusedToken =
  "The operator token is wrong or was revoked. To create one: switchyard operator create. Pass its file with --operator-token-file.";

/** The hint for a demo that does not answer. */
export const isItRunning = "Is the demo running? To start it: npm start";

/** True if nothing answered. A refusal by the service has a request id. */
function isSilence(error: ApiError): boolean {
  return error.code === "unavailable" && error.requestId === undefined;
}

export function scopeOf(options: MerchantOptions): Scope {
  const merchantId = options.merchant ?? (isDemo(options) ? demoOf(options).merchants[0]?.merchantId : undefined);
  if (merchantId === undefined) throw new UsageError("Name the merchant with --merchant mer_….");
  return { merchantId, ...environmentOf(options) };
}

function environmentOf({ environment }: EnvironmentOptions): EnvironmentScope {
  return { environment: environment === "live" ? "ENVIRONMENT_LIVE" : "ENVIRONMENT_TEST" };
}

export function isDemo(options: Pick<AttachOptions, "grpcAddress">): boolean {
  return options.grpcAddress === undefined;
}

/** Reads the file that the demo wrote for programs that attach. Throws UsageError when there is none. */
export function demoOf(options: { readonly demo: string }): DemoFile {
  const file = readDemoFile(resolve(options.demo));
  if (file !== undefined) return file;
  throw new UsageError(
    `There is no demo in ${options.demo}: start one with \`npm start\`, name its folder with --demo, or name an installation by its address and a secret (see --help).`,
  );
}

/** Reads a secret from a file, without the line ending that editors add. */
export function readSecretFile(file: string): Secret {
  return new Secret(readFileSync(file, "utf8").trim());
}

/** Returns the address and the credential that the options give. Throws UsageError when one is missing. */
async function attach(options: AttachOptions): Promise<{ grpcAddress: string; credential: DashboardCredential }> {
  const asService = await serviceCredential(options);
  if (options.grpcAddress === undefined) {
    const { grpcAddress, operatorToken } = demoOf(options);
    return { grpcAddress, credential: asService ?? new Secret(operatorToken) };
  }
  if (!/^(\[[\da-f:]+\]|[^\s:/]+):\d+$/i.test(options.grpcAddress))
    throw new UsageError("--grpc-address must be host:port of an edge's gRPC port, such as 127.0.0.1:8081.");
  if (asService !== undefined) return { grpcAddress: options.grpcAddress, credential: asService };
  const operatorToken = options.operatorTokenFile
    ? readSecretFile(options.operatorTokenFile)
    : (await commandLineVariables()).operatorToken;
  if (operatorToken === undefined) {
    throw new UsageError("Give the operator token with --operator-token-file, or set SWITCHYARD_OPERATOR_TOKEN.");
  }
  return { grpcAddress: options.grpcAddress, credential: operatorToken };
}

/** Returns what signs a token for each request of a service, for the merchant and environment that the request names. */
async function serviceCredential({ service, serviceKeyFile }: AttachOptions): Promise<DashboardCredential | undefined> {
  if (service === undefined && serviceKeyFile === undefined) return undefined;
  if (service === undefined || serviceKeyFile === undefined)
    throw new UsageError("Give --service and --service-key-file together.");
  const { createPrivateKey } = await import("node:crypto");
  const { signInternalServiceToken } = await import("../platform/internal-service-token.ts");
  const privateKey = createPrivateKey(readSecretFile(serviceKeyFile).expose());
  return (request) => {
    const { merchantId: merchant, environment } = request as { merchantId?: string; environment?: string };
    const named = environment === "ENVIRONMENT_LIVE" ? "live" : "test";
    return signInternalServiceToken({ kid: service, privateKey }, { environment: named, merchant });
  };
}

/** The environment of a command. The settings of all roles are loaded only now: help needs none. */
export async function commandLineVariables() {
  return (await import("../config/config.ts")).readCommandLineVariables();
}
