/** `switchyard migrate`: migrates one database to the newest schema. */
import { type Command, Option } from "commander";
import type { DatabaseKind } from "../migrations/schema-history.ts";
import { describedCommand } from "./attachment.ts";
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
      const { migrate } = await import("../migrations/migrate.ts");
      const applied = await migrate({ ownerUrl, runtimeRole, kind, report: (line) => console.error(line) });
      print(options, { applied }, () => [
        applied.length === 0 ? "Nothing to do: the schema is up to date." : `Applied ${applied.join(", ")}.`,
      ]);
    });
}
