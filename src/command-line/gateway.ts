/** `switchyard gateway`: lists gateways, and the health of a merchant's accounts there. */
import { Command } from "commander";
import { administer, type MerchantOptions, merchantCommand, scopeOf } from "./attachment.ts";
import { type ConnectionNames, readConnectionNames } from "./connection-names.ts";
import { table } from "./output.ts";

export function gatewayCommand(): Command {
  return new Command("gateway").addCommand(listCommand()).addCommand(healthCommand());
}

function listCommand(): Command {
  return merchantCommand("list", {
    description: "list the gateways that can be connected, with the credentials that each requires",
    example: "switchyard gateway list --environment live",
  }).action(async (options: MerchantOptions) => {
    await administer(
      options,
      ({ gateways }) => gateways.listGateways(scopeOf(options)),
      ({ gateways = [] }) =>
        gateways.flatMap(({ gateway, credentialFields = [], becauseUnusable, emulatorAccepts }) => [
          becauseUnusable ? `${gateway}: ${becauseUnusable}` : `${gateway}`,
          ...(emulatorAccepts ? [`  ${emulatorAccepts}`] : []),
          ...credentialFields.map(({ name, label, hint }) => `  ${name}  ${label}. ${hint}`),
        ]),
    );
  });
}

function healthCommand(): Command {
  return merchantCommand("health", {
    description: "show the results of a merchant's accounts in the last hour",
    example: "switchyard gateway health",
  }).action(async (options: MerchantOptions) => {
    let nameOf: ConnectionNames = () => undefined;
    await administer(
      options,
      async ({ gateways, connections }) => {
        nameOf = await readConnectionNames(connections, scopeOf(options));
        return gateways.listGatewayHealth(scopeOf(options));
      },
      ({ connections = [], since }) =>
        table(
          ["CONNECTION", "GATEWAY", "ACCOUNT", "ATTEMPTS", "APPROVED", "DECLINED", "TIMEOUTS", "ERRORS", "P50", "P95"],
          connections.map((row) => [
            row.connectionId ?? "",
            nameOf(row.connectionId ?? "")?.gateway ?? "",
            nameOf(row.connectionId ?? "")?.account ?? "",
            ...[row.attempts, row.approved, row.declined, row.timeouts, row.errors].map(String),
            `${row.latencyP50Ms} ms`,
            `${row.latencyP95Ms} ms`,
          ]),
          `There was no attempt at a gateway since ${since}.`,
        ),
    );
  });
}
