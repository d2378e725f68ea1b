/** `switchyard gateway`: which gateways there are, and how a merchant's accounts there are doing. */
import { Command } from "commander";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";
import { type ConnectionNames, readConnectionNames } from "./connection-names.ts";
import { table } from "./output.ts";

type GatewayOptions = AttachOptions & ScopeOptions;

/** Tells of gateways; their accounts are `switchyard connection`. */
export function gatewayCommand(): Command {
  return new Command("gateway")
    .description("which gateways there are, and how a merchant's accounts there are doing")
    .addCommand(listCommand())
    .addCommand(healthCommand());
}

function listCommand(): Command {
  return merchantCommand("list", {
    description: "list the gateways that accounts can be connected at, with the credentials that each asks for",
    example: "switchyard gateway list --environment live",
  }).action(async (options: GatewayOptions) => {
    await administer(
      options,
      ({ gateways }) => gateways.listGateways(scopeOf(options)),
      ({ gateways = [] }) =>
        gateways.flatMap(({ gateway, credentialFields = [], becauseUnusable }) => [
          becauseUnusable ? `${gateway}: ${becauseUnusable}` : `${gateway}`,
          ...credentialFields.map(({ name, label, hint }) => `  ${name}  ${label}. ${hint}`),
        ]),
    );
  });
}

function healthCommand(): Command {
  return merchantCommand("health", {
    description: "say how a merchant's accounts answered payments of the last hour",
    example: "switchyard gateway health",
  }).action(async (options: GatewayOptions) => {
    let nameOf: ConnectionNames = () => undefined;
    await administer(
      options,
      async ({ gateways, connections }) => {
        nameOf = await readConnectionNames(connections, scopeOf(options));
        return gateways.listGatewayHealth(scopeOf(options));
      },
      ({ connections = [], since }) =>
        table(
          ["CONNECTION", "GATEWAY", "ACCOUNT", "ASKED", "APPROVED", "DECLINED", "TIMEOUTS", "ERRORS", "P50", "P95"],
          connections.map((row) => [
            row.connectionId ?? "",
            nameOf(row.connectionId ?? "")?.gateway ?? "",
            nameOf(row.connectionId ?? "")?.account ?? "",
            ...[row.attempts, row.approved, row.declined, row.timeouts, row.errors].map(String),
            `${row.latencyP50Ms} ms`,
            `${row.latencyP95Ms} ms`,
          ]),
          `No gateway was asked for a payment since ${since}.`,
        ),
    );
  });
}
