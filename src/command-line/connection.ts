/** `switchyard connection`: a merchant's accounts at gateways. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import {
  type AttachOptions,
  administer,
  merchantCommand,
  type ScopeOptions,
  scopeOf,
  UsageError,
} from "./attachment.ts";
import { table } from "./output.ts";

type ConnectionOptions = AttachOptions & ScopeOptions;

/** Adds, verifies and lists a merchant's accounts at gateways. */
export function connectionCommand(): Command {
  return new Command("connection")
    .description("a merchant's accounts at gateways")
    .addCommand(addCommand())
    .addCommand(verifyCommand())
    .addCommand(listCommand());
}

function addCommand(): Command {
  return merchantCommand("add", {
    description: "record an account with its credentials, which are sealed and never shown again",
    example: `echo '{"apiKey": "sandbox_test_mine"}' | switchyard connection add --gateway SANDBOX_A --account mine --credentials-file -`,
  })
    .requiredOption("--gateway <gateway>", "such as SANDBOX_A")
    .requiredOption("--account <name>", "what you call the account")
    .requiredOption("--credentials-file <file>", "JSON object of what the gateway asks for; - reads standard input")
    .action(async (options: ConnectionOptions & { gateway: string; account: string; credentialsFile: string }) => {
      const { gateway, account } = options;
      const credentials = readCredentials(options.credentialsFile);
      await administer(
        options,
        ({ connections }) => connections.addGatewayConnection({ ...scopeOf(options), gateway, account, credentials }),
        ({ connection, notificationUrl }) => [
          `Added ${connection?.connectionId}. Verify it before routing to it:`,
          `  switchyard connection verify ${connection?.connectionId}`,
          `Where the gateway sends notices, it sends them to ${notificationUrl}`,
        ],
      );
    });
}

function verifyCommand(): Command {
  return merchantCommand("verify", {
    description: "try the newest credentials by a live test call and put them to use; exits with 1 when they fail",
    example: "switchyard connection verify gc_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<connection>", "its id")
    .action(async (connectionId: string, options: ConnectionOptions) => {
      const { verified } = await administer(
        options,
        ({ connections }) => connections.verifyGatewayConnection({ ...scopeOf(options), connectionId }),
        (answer) => [
          ...(answer.checks ?? []).map(
            ({ check, passed, required, detail }) =>
              `${passed ? "passed" : required ? "FAILED" : "failed, not required"}  ${check}: ${detail}`,
          ),
          answer.verified ? "Verified: it can be routed to." : "Not verified: its credentials are not in use.",
        ],
      );
      if (!verified) process.exitCode = 1;
    });
}

function listCommand(): Command {
  return merchantCommand("list", {
    description: "list a merchant's accounts, oldest first",
    example: "switchyard connection list --environment live",
  }).action(async (options: ConnectionOptions) => {
    await administer(
      options,
      ({ connections }) => connections.listGatewayConnections(scopeOf(options)),
      ({ connections = [] }) =>
        table(
          ["CONNECTION", "GATEWAY", "ACCOUNT", "STATE"],
          connections.map(({ connectionId = "", gateway = "", account = "", verified, paused }) => [
            connectionId,
            gateway,
            account,
            paused ? "paused" : verified ? "verified" : "not verified",
          ]),
          "The merchant has no gateway connection in this environment.",
        ),
    );
  });
}

function readCredentials(file: string): Record<string, string> {
  const text = readFileSync(file === "-" ? process.stdin.fd : file, "utf8");
  try {
    const parsed: unknown = JSON.parse(text);
    const isFlat = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
    if (isFlat && Object.values(parsed).every((value) => typeof value === "string")) {
      return parsed as Record<string, string>;
    }
  } catch {
    // What the parser says could repeat a part of a credential.
  }
  throw new UsageError('The credentials must be one JSON object of strings, such as {"apiKey": "…"}.');
}
