/** `switchyard migrate`: migrates one database to the newest schema. */
import { type Command, Option } from "commander";
import type { DatabaseKind } from "../migrations/schema-history.ts";
import { databaseLogin } from "../platform/database-address.ts";
import { describedCommand, UsageError } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";
import { addOwnerUrl, type OwnerUrlOptions, ownerUrlOf } from "./owner-url.ts";

type MigrateOptions = OutputOptions & OwnerUrlOptions & { runtimeRole: string; kind: DatabaseKind };

export function migrateCommand(): Command {
  const command = describedCommand("migrate", {
    example:
      "switchyard migrate --kind environment --url postgres://owner@db/switchyard_test --runtime-role switchyard_test",
  });
  return addOwnerUrl(command)
    .requiredOption("--runtime-role <role>", "existing database role that the service connects as")
    .addOption(
      new Option("--kind <kind>", "kind of database")
        .choices(["environment", "accounts", "vault"])
        .makeOptionMandatory(),
    )
    .action(async (options: MigrateOptions) => {
      const { runtimeRole, kind } = options;
      const ownerUrl = ownerUrlOf(options);
      await refuseOtherKind(ownerUrl, kind);
      const { migrate } = await import("../migrations/migrate.ts");
      const applied = await migrate({ ownerUrl, runtimeRole, kind, report: (line) => console.error(line) });
      print(options, { applied }, () => [
        applied.length === 0 ? "Nothing to do: the schema is up to date." : `Applied ${applied.join(", ")}.`,
      ]);
    });
}

// A table that only a database of the kind has.
const marks: Readonly<Record<DatabaseKind, string>> = {
  environment: "payment_session",
  accounts: "membership",
  vault: "stored_card",
};

/** The first migration of each kind has the same name, so the list of applied ones does not tell them apart. */
async function refuseOtherKind(ownerUrl: string, kind: DatabaseKind): Promise<void> {
  const { Client } = await import("pg");
  const client = new Client(databaseLogin(ownerUrl));
  await client.connect();
  try {
    for (const [other, table] of Object.entries(marks)) {
      const { rows } = await client.query("SELECT to_regclass($1) AS found", [`public.${table}`]);
      if (other !== kind && rows[0].found !== null)
        throw new UsageError(`This database is of kind ${other}, not ${kind}. Correct --kind or the address.`);
    }
  } finally {
    await client.end();
  }
}
