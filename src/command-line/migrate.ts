/** `switchyard migrate`: one database to the newest schema. */
import { type Command, Option } from "commander";
import type { DatabaseKind } from "../migrations/schema-history.ts";
import { describedCommand } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";

type MigrateOptions = OutputOptions & { url: string; runtimeRole: string; kind: DatabaseKind };

/** Applies what a database lacks, as its owner. */
export function migrateCommand(): Command {
  return describedCommand("migrate", {
    description: "bring one database to the newest schema, as its owner",
    example:
      "switchyard migrate --kind environment --url postgres://owner@db/switchyard_test --runtime-role switchyard_test",
  })
    .requiredOption("--url <url>", "address of the database, as its owner")
    .requiredOption("--runtime-role <role>", "existing role that the service connects as")
    .addOption(
      new Option("--kind <kind>", "what the database is for")
        .choices(["environment", "accounts", "vault"])
        .makeOptionMandatory(),
    )
    .action(async (options: MigrateOptions) => {
      const { url: ownerUrl, runtimeRole, kind } = options;
      const { migrate } = await import("../migrations/migrate.ts");
      const applied = await migrate({ ownerUrl, runtimeRole, kind });
      print(options, { applied }, () => [
        applied.length === 0 ? "Nothing to do: the schema is up to date." : `Applied ${applied.join(", ")}.`,
      ]);
    });
}
