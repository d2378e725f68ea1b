/** `switchyard migrate`: one database to the newest schema. */
import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import type { DatabaseKind } from "../migrations/schema-history.ts";
import { describedCommand, UsageError } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";

type MigrateOptions = OutputOptions & { url?: string; urlFile?: string; runtimeRole: string; kind: DatabaseKind };

/** Applies what a database lacks, as its owner. */
export function migrateCommand(): Command {
  return describedCommand("migrate", {
    description: "bring one database to the newest schema, as its owner",
    example:
      "switchyard migrate --kind environment --url postgres://owner@db/switchyard_test --runtime-role switchyard_test",
  })
    .option("--url <url>", "address of the database, as its owner")
    .option("--url-file <file>", "file that has this address, so that no list of processes shows its password")
    .requiredOption("--runtime-role <role>", "existing role that the service connects as")
    .addOption(
      new Option("--kind <kind>", "what the database is for")
        .choices(["environment", "accounts", "vault"])
        .makeOptionMandatory(),
    )
    .action(async (options: MigrateOptions) => {
      const { runtimeRole, kind } = options;
      const ownerUrl = ownerUrlOf(options);
      const { migrate } = await import("../migrations/migrate.ts");
      const applied = await migrate({ ownerUrl, runtimeRole, kind, tell: (line) => console.error(line) });
      print(options, { applied }, () => [
        applied.length === 0 ? "Nothing to do: the schema is up to date." : `Applied ${applied.join(", ")}.`,
      ]);
    });
}

function ownerUrlOf({ url, urlFile }: Pick<MigrateOptions, "url" | "urlFile">): string {
  if ((url === undefined) === (urlFile === undefined)) throw new UsageError("Give --url or --url-file, one of them.");
  return url ?? readFileSync(urlFile!, "utf8").trim();
}
