/** `switchyard operator`: who may administer an installation. It works on the accounts database itself, so it comes first. */
import { Command } from "commander";
import { generateOperatorToken, insertOperatorToken, revokeOperatorTokens } from "../accounts/operator-tokens.ts";
import { readCommandLineVariables } from "../config.ts";
import type { Database } from "../platform/database.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { describedCommand, UsageError } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";

type OperatorOptions = OutputOptions & { readonly label: string };

const needs = "reads SWITCHYARD_ACCOUNTS_DATABASE_URL";

/** Lets people administer an installation, and ends that. */
export function operatorsCommand(): Command {
  return new Command("operator")
    .description("who may administer an installation with this command line")
    .addCommand(createCommand())
    .addCommand(revokeCommand());
}

function createCommand(): Command {
  return describedCommand("create", {
    description: `let a person in by a token, which is shown this once; ${needs}`,
    example: "switchyard operator create --label ada > operator-token",
  })
    .requiredOption("--label <name>", "who it is; every row of the audit trail says so")
    .action(async (options: OperatorOptions) => {
      const token = generateOperatorToken(systemEntropy, readCommandLineVariables().brand);
      const { label } = options;
      await onAccounts((accounts) => insertOperatorToken(accounts, { id: systemEntropy.uuid(), label, token }));
      print(options, { operatorToken: token.expose() }, ({ operatorToken }) => [operatorToken]);
    });
}

function revokeCommand(): Command {
  return describedCommand("revoke", {
    description: `refuse every token of a person from now on; ${needs}`,
    example: "switchyard operator revoke --label ada",
  })
    .requiredOption("--label <name>", "whose")
    .action(async (options: OperatorOptions) => {
      const revoked = await onAccounts((accounts) => revokeOperatorTokens(accounts, options.label));
      print(options, { revoked }, () => [`Revoked ${revoked} token(s).`]);
    });
}

/** Works on the accounts database that SWITCHYARD_ACCOUNTS_DATABASE_URL names. */
export async function onAccounts<Result>(work: (accounts: Database) => Promise<Result>): Promise<Result> {
  const url = readCommandLineVariables().accountsDatabaseUrl;
  if (url === undefined) throw new UsageError("Set SWITCHYARD_ACCOUNTS_DATABASE_URL to the accounts database.");
  const { openDatabase } = await import("../environment.ts");
  // The address is the service's own, and may lead through a pooler: what works there works everywhere.
  const { database, close } = await openDatabase(url, [], { pooler: "transaction", connectionsMax: 1 });
  try {
    return await work(database);
  } finally {
    await close();
  }
}
