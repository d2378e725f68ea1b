/** `switchyard cell`: the databases of each environment. */
import { Command } from "commander";
import { type AttachOptions, administer, operatorCommand } from "./attachment.ts";
import { table } from "./output.ts";

export function cellCommand(): Command {
  return new Command("cell").addCommand(listCommand());
}

function listCommand(): Command {
  return operatorCommand("list", {
    description: "list the cells of every environment, with their merchants",
    example: "switchyard cell list",
  }).action(async (options: AttachOptions) => {
    await administer(
      options,
      ({ merchants }) => merchants.listCells({}),
      ({ cells = [] }) =>
        table(
          ["ENVIRONMENT", "CELL", "DATABASE", "MERCHANTS", "MOVED AWAY", "PROCESSING"],
          cells.map(({ environment, cell, available, merchants, formerMerchants, processing }) => [
            environment === "ENVIRONMENT_LIVE" ? "live" : "test",
            String(cell),
            available ? "answers" : "does not answer",
            String(merchants),
            ...(available ? [String(formerMerchants), String(processing)] : ["", ""]),
          ]),
          "There are no cells.",
        ),
    );
  });
}
