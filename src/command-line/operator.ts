/**
 * `switchyard operator`: grants and ends access to an installation. It works on the accounts database itself, so it
 * comes first.
 */
import { Command } from "commander";
import { generateOperatorToken, insertOperatorToken, revokeOperatorTokens } from "../accounts/operator-tokens.ts";
import type { Database } from "../platform/database.ts";
import { commandLineVariables, describedCommand, UsageError } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";

type OperatorOptions = OutputOptions & { readonly label: string };

const needs = "reads SWITCHYARD_ACCOUNTS_DATABASE_URL";

export function operatorsCommand(): Command {
  return new Command("operator").addCommand(createCommand()).addCommand(revokeCommand());
}

function createCommand(): Command {
  return describedCommand("create", {
    description: `create an operator token for a person; it is shown only once; ${needs}`,
    example: "switchyard operator create --label ada > operator-token",
  })
    .requiredOption("--label <name>", "name of the person, written to every row of the audit trail")
    .action(async (options: OperatorOptions) => {
      const { systemRuntime } = await import("../platform/runtime.ts");
      const token = generateOperatorToken(systemRuntime, (await commandLineVariables()).brand);
      const { label } = options;
      await onAccounts((accounts) => insertOperatorToken(accounts, { id: systemRuntime.uuid(), label, token }));
      print(options, { operatorToken: token.expose() }, ({ operatorToken }) => [operatorToken]);
    });
}

function revokeCommand(): Command {
  return describedCommand("revoke", {
    description: `revoke every operator token of a person; ${needs}`,
    example: "switchyard operator revoke --label ada",
  })
    .requiredOption("--label <name>", "name of the person")
    .action(async (options: OperatorOptions) => {
      const revoked = await onAccounts((accounts) => revokeOperatorTokens(accounts, options.label));
      print(options, { revoked }, () => [`Revoked ${revoked} token(s).`]);
    });
}

export async function onAccounts<Result>(work: (accounts: Database) => Promise<Result>): Promise<Result> {
  const url = (await commandLineVariables()).accountsDatabaseUrl;
  if (url === undefined) throw new UsageError("Set SWITCHYARD_ACCOUNTS_DATABASE_URL to the accounts database.");
  const { openDatabase } = await import("../processes/open-database.ts");
  // The address is the service's own and may lead through a pooler: statements that work there work everywhere.
  const { database, close } = openDatabase(url, { pooler: "transaction", connectionsMax: 1 });
  try {
    return await work(database);
  } finally {
    await close();
  }
}
