/** `switchyard connection`: a merchant's accounts at gateways. */
import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import { administer, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";
import { table } from "./output.ts";
import { sameScope } from "./same-scope.ts";
import { rotationLines, verificationLines } from "./verification-lines.ts";

/** Adds, verifies, rotates, pauses and lists a merchant's accounts at gateways and providers of authentication. */
export function connectionCommand(): Command {
  return new Command("connection")
    .addCommand(addCommand())
    .addCommand(verifyCommand())
    .addCommand(rotateCommand())
    .addCommand(pauseCommand())
    .addCommand(resumeCommand())
    .addCommand(acquirerCommand())
    .addCommand(listCommand())
    .addCommand(unclassifiedCommand());
}

function addCommand(): Command {
  return merchantCommand("add", {
    description: "add an account at a gateway; its credentials are sealed and never shown again",
    example: `echo '{"apiKey": "sandbox_test_mine"}' | switchyard connection add --gateway SANDBOX_A --account mine --credentials-file -`,
  })
    .requiredOption("--gateway <gateway>", "gateway, such as SANDBOX_A")
    .requiredOption("--account <name>", "your name for the account")
    .requiredOption(
      "--credentials-file <file>",
      "JSON object with the gateway's credentials (see `switchyard gateway list`); - reads standard input",
    )
    .action(async (options: MerchantOptions & { gateway: string; account: string; credentialsFile: string }) => {
      const { gateway, account } = options;
      const credentials = readCredentials(options.credentialsFile);
      let sendsNotifications = false;
      await administer(
        options,
        async ({ connections, gateways: service }) => {
          const { gateways = [] } = await service.listGateways(scopeOf(options));
          sendsNotifications = gateways.some((row) => row.gateway === gateway && row.sendsNotifications);
          return connections.addGatewayConnection({ ...scopeOf(options), gateway, account, credentials });
        },
        ({ connection, notificationUrl }) => [
          `Added ${connection?.connectionId}. Verify it before routing to it:`,
          `  switchyard connection verify ${connection?.connectionId}${sameScope(options)}`,
          ...(sendsNotifications ? [`Configure the gateway to send its notifications to ${notificationUrl}`] : []),
        ],
      );
    });
}

function verifyCommand(): Command {
  return merchantCommand("verify", {
    description:
      "check the newest credentials with a call to the gateway and use them if it passes; exits with 1 if it fails",
    example: "switchyard connection verify gc_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<connection>", "id of the connection")
    .addOption(
      new Option(
        "--route-payments <answer>",
        "route payments to the account once it is verified; required in live at its first verification",
      ).choices(["yes", "no"]),
    )
    .action(async (connectionId: string, options: MerchantOptions & { routePayments?: "yes" | "no" }) => {
      const { routePayments } = options;
      const answer = routePayments === undefined ? {} : { routePayments: routePayments === "yes" };
      const { verified } = await administer(
        options,
        ({ connections }) => connections.verifyGatewayConnection({ ...scopeOf(options), connectionId, ...answer }),
        verificationLines,
      );
      if (!verified) process.exitCode = 1;
    });
}

function rotateCommand(): Command {
  return merchantCommand("rotate", {
    description:
      "replace an account's credentials by others of the same account, after a call to the gateway has passed; exits with 1 if it fails",
    example: `echo '{"apiKey": "sandbox_test_new"}' | switchyard connection rotate gc_01h455vb4pex5vsknk084sn02q --credentials-file -`,
  })
    .argument("<connection>", "id of the connection")
    .requiredOption(
      "--credentials-file <file>",
      "JSON object with all of the gateway's credentials; - reads standard input",
    )
    .action(async (connectionId: string, options: MerchantOptions & { credentialsFile: string }) => {
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
    description: "exclude an account from new payments; its open holds are still captured or voided",
    example: "switchyard connection pause gc_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<connection>", "id of the connection")
    .action(async (connectionId: string, options: MerchantOptions) => {
      await administer(
        options,
        ({ connections }) => connections.pauseGatewayConnection({ ...scopeOf(options), connectionId }),
        () => [
          "Paused: new payments do not use it. To resume:",
          `  switchyard connection resume ${connectionId}${sameScope(options)}`,
        ],
      );
    });
}

function resumeCommand(): Command {
  return merchantCommand("resume", {
    description: "use a paused account for new payments again",
    example: "switchyard connection resume gc_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<connection>", "id of the connection")
    .action(async (connectionId: string, options: MerchantOptions) => {
      await administer(
        options,
        ({ connections }) => connections.resumeGatewayConnection({ ...scopeOf(options), connectionId }),
        ({ connection }) => [connection?.verified ? "Resumed." : "Resumed, but its credentials are not verified yet."],
      );
    });
}

function acquirerCommand(): Command {
  return merchantCommand("acquirer", {
    description: "set the merchant's data at the account's acquirer, which a provider of authentication sends to banks",
    example: `echo '{"mcc": "5411", "country": "DE", "merchantName": "Acme", "networks": [{"network": "visa", "acquirerBin": "438309", "acquirerMerchantId": "00002000000"}]}' | switchyard connection acquirer gc_01h455vb4pex5vsknk084sn02q --file -`,
  })
    .argument("<connection>", "id of the connection")
    .option("--file <file>", "JSON object with the data, as in the example; - reads standard input")
    .option("--remove", "delete the data")
    .action(async (connectionId: string, options: MerchantOptions & { file?: string; remove?: boolean }) => {
      if ((options.file === undefined) === (options.remove === undefined))
        throw new UsageError("Give --file or --remove.");
      const acquirer = options.file === undefined ? undefined : readAcquirer(options.file);
      await administer(
        options,
        ({ connections }) =>
          connections.setAcquirerData({ ...scopeOf(options), connectionId, ...(acquirer && { acquirer }) }),
        ({ connection }) => [
          connection?.acquirer
            ? `Set for ${(connection.acquirer.networks ?? []).map(({ network }) => network).join(", ")}.`
            : "Deleted.",
        ],
      );
    });
}

function readAcquirer(file: string): Record<string, unknown> {
  const text = readFileSync(file === "-" ? process.stdin.fd : file, "utf8");
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed))
      return parsed as Record<string, unknown>;
  } catch {
    // Below.
  }
  throw new UsageError("The acquirer's data must be one JSON object; see --help.");
}

function unclassifiedCommand(): Command {
  return merchantCommand("unclassified", {
    description: "list decline codes without a classification, latest first; each of them ended its payment",
    example: "switchyard connection unclassified --environment live",
  }).action(async (options: MerchantOptions) => {
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
          "All decline codes so far are classified.",
        ),
    );
  });
}

function listCommand(): Command {
  return merchantCommand("list", {
    description: "list a merchant's accounts, oldest first",
    example: "switchyard connection list --environment live",
  }).action(async (options: MerchantOptions) => {
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
    // The parser's message could repeat a part of a credential.
  }
  throw new UsageError('The credentials must be one JSON object of strings, such as {"apiKey": "…"}.');
}
