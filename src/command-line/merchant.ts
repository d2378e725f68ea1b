/** `switchyard merchant`: the merchants of an installation. */
import { Command } from "commander";
import { type AttachOptions, administer, operatorCommand } from "./attachment.ts";
import { table } from "./output.ts";

/** Creates and lists the merchants of an installation. */
export function merchantsCommand(): Command {
  return new Command("merchant")
    .description("the merchants of an installation")
    .addCommand(createCommand())
    .addCommand(listCommand());
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
          ["MERCHANT", "NAME"],
          merchants.map(({ merchantId = "", name = "" }) => [merchantId, name]),
          "There are no merchants yet.",
        ),
    );
  });
}
