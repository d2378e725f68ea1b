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
import { sameScope } from "./same-scope.ts";
import { rotationLines, verificationLines } from "./verification-lines.ts";

type ConnectionOptions = AttachOptions & ScopeOptions;

/** Adds, verifies, rotates, pauses and lists a merchant's accounts at gateways. */
export function connectionCommand(): Command {
  return new Command("connection")
    .description("a merchant's accounts at gateways")
    .addCommand(addCommand())
    .addCommand(verifyCommand())
    .addCommand(rotateCommand())
    .addCommand(pauseCommand())
    .addCommand(resumeCommand())
    .addCommand(listCommand())
    .addCommand(unclassifiedCommand());
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
      let sendsNotices = false;
      await administer(
        options,
        async ({ connections, gateways: service }) => {
          const { gateways = [] } = await service.listGateways(scopeOf(options));
          sendsNotices = gateways.some((row) => row.gateway === gateway && row.sendsNotices);
          return connections.addGatewayConnection({ ...scopeOf(options), gateway, account, credentials });
        },
        ({ connection, notificationUrl }) => [
          `Added ${connection?.connectionId}. Verify it before routing to it:`,
          `  switchyard connection verify ${connection?.connectionId}${sameScope(options)}`,
          ...(sendsNotices ? [`Let the gateway send its notices to ${notificationUrl}`] : []),
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
        verificationLines,
      );
      if (!verified) process.exitCode = 1;
    });
}

function rotateCommand(): Command {
  return merchantCommand("rotate", {
    description: "replace an account's credentials, once a live test call has passed; exits with 1 when it fails",
    example: `echo '{"apiKey": "sandbox_test_new"}' | switchyard connection rotate gc_01h455vb4pex5vsknk084sn02q --credentials-file -`,
  })
    .argument("<connection>", "its id")
    .requiredOption("--credentials-file <file>", "JSON object of all that the gateway asks for; - reads standard input")
    .action(async (connectionId: string, options: ConnectionOptions & { credentialsFile: string }) => {
      const credentials = readCredentials(options.credentialsFile);
      const { verified } = await administer(
        options,
        ({ connections }) => connections.rotateGatewayCredentials({ ...scopeOf(options), connectionId, credentials }),
        rotationLines,
      );
      if (!verified) process.exitCode = 1;
    });
}

function pauseCommand(): Command {
  return merchantCommand("pause", {
    description: "leave an account out of new payments; what it holds is still captured or given back",
    example: "switchyard connection pause gc_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<connection>", "its id")
    .action(async (connectionId: string, options: ConnectionOptions) => {
      await administer(
        options,
        ({ connections }) => connections.pauseGatewayConnection({ ...scopeOf(options), connectionId }),
        () => [
          "Paused: new payments leave it out. To go on:",
          `  switchyard connection resume ${connectionId}${sameScope(options)}`,
        ],
      );
    });
}

function resumeCommand(): Command {
  return merchantCommand("resume", {
    description: "ask a paused account again",
    example: "switchyard connection resume gc_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<connection>", "its id")
    .action(async (connectionId: string, options: ConnectionOptions) => {
      await administer(
        options,
        ({ connections }) => connections.resumeGatewayConnection({ ...scopeOf(options), connectionId }),
        ({ connection }) => [connection?.verified ? "Resumed." : "Resumed, but its credentials are not verified yet."],
      );
    });
}

function unclassifiedCommand(): Command {
  return merchantCommand("unclassified", {
    description: "list the decline codes that nobody has classified, the latest first; each stopped its payment",
    example: "switchyard connection unclassified --environment live",
  }).action(async (options: ConnectionOptions) => {
    await administer(
      options,
      ({ connections }) => connections.listUnclassifiedCodes(scopeOf(options)),
      ({ codes = [] }) =>
        table(
          ["GATEWAY", "CODE", "ATTEMPTS", "FIRST SEEN", "LAST SEEN", "LAST ATTEMPT"],
          codes.map((code) => [
            code.gateway ?? "",
            code.gatewayCode ?? "",
            String(code.attempts ?? ""),
            code.firstSeenAt ?? "",
            code.lastSeenAt ?? "",
            code.attemptId ?? "",
          ]),
          "Every decline code so far is classified.",
        ),
    );
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
