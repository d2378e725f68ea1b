/** `switchyard merchant`: the merchants of an installation. */
import { Command } from "commander";
import {
  type AttachOptions,
  administer,
  type MerchantOptions,
  merchantCommand,
  operatorCommand,
  scopeOf,
} from "./attachment.ts";
import { table } from "./output.ts";

export function merchantsCommand(): Command {
  return new Command("merchant").addCommand(createCommand()).addCommand(listCommand()).addCommand(moveCommand());
}

function createCommand(): Command {
  return operatorCommand("create", {
    description: "create a merchant with keys in every environment; the keys are shown only once",
    example: 'switchyard merchant create --name "Corner Coffee"',
  })
    .requiredOption("--name <name>", "name that customers see above the card form")
    .action(async (options: AttachOptions & { name: string }) => {
      await administer(
        options,
        ({ merchants }) => merchants.createMerchant({ name: options.name }),
        ({ merchant, keys = [] }) => [
          `Created ${merchant?.name} as ${merchant?.merchantId}. Its keys, shown only once:`,
          ...keys.flatMap(({ secretKey, publishableKey }) => [`  ${secretKey}`, `  ${publishableKey}`]),
        ],
      );
    });
}

function listCommand(): Command {
  return operatorCommand("list", {
    description: "list all merchants, oldest first",
    example: "switchyard merchant list",
  }).action(async (options: AttachOptions) => {
    await administer(
      options,
      ({ merchants }) => merchants.listMerchants({}),
      ({ merchants = [] }) =>
        table(
          ["MERCHANT", "NAME", "TEST CELL", "LIVE CELL"],
          merchants.map(({ merchantId = "", name = "", testCell, liveCell }) => [
            merchantId,
            name,
            String(testCell),
            String(liveCell),
          ]),
          "There are no merchants yet.",
        ),
    );
  });
}

function moveCommand(): Command {
  return merchantCommand("move", {
    description:
      "create a merchant's sessions in another cell from now on; its earlier sessions stay, and a failed move is repeated",
    example: "switchyard merchant move --merchant mer_01h455vb4pex5vsknk084sn02q --environment live --to 2",
  })
    .requiredOption("--to <cell>", "number of the cell")
    .action(async (options: MerchantOptions & { to: string }) => {
      await administer(
        options,
        ({ merchants }) => merchants.moveMerchant({ ...scopeOf(options), toCell: Number(options.to) }),
        ({ fromCell, toCell }) =>
          fromCell === toCell
            ? [`Its sessions are already created in cell ${toCell}.`]
            : [
                `Moved from cell ${fromCell} to cell ${toCell}. Earlier sessions stay in cell ${fromCell}: change endpoints and`,
                `credentials in both as long as they are open (--cell ${fromCell}). Regenerate the API keys soon: the old ones`,
                `work, but only while cell ${fromCell} answers.`,
              ],
      );
    });
}
