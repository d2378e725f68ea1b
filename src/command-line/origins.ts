/** `switchyard origins`: the origins of pages that may show a merchant's checkout. */
import { Command } from "commander";
import { administer, type MerchantOptions, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";

export function originsCommand(): Command {
  return new Command("origins").addCommand(setCommand()).addCommand(showCommand());
}

function setCommand(): Command {
  return merchantCommand("set", {
    description: "replace the origins; without an origin, test allows every page and live allows none",
    example: "switchyard origins set https://shop.example.com https://www.example.com --environment live",
  })
    .argument("[origins...]", "scheme and host of each page, such as https://shop.example.com")
    .action(async (checkoutOrigins: string[], options: MerchantOptions) => {
      await administer(
        options,
        ({ settings }) => settings.setCheckoutOrigins({ ...scopeOf(options), checkoutOrigins }),
        ({ settings }) => describeOrigins(options, settings?.checkoutOrigins),
      );
    });
}

function showCommand(): Command {
  return merchantCommand("show", {
    description: "show the origins",
    example: "switchyard origins show --environment live",
  }).action(async (options: MerchantOptions) => {
    await administer(
      options,
      ({ settings }) => settings.getSettings(scopeOf(options)),
      ({ settings }) => describeOrigins(options, settings?.checkoutOrigins),
    );
  });
}

function describeOrigins({ environment }: ScopeOptions, origins: readonly string[] = []): readonly string[] {
  if (origins.length > 0) return origins;
  return [environment === "live" ? "None: no page may show the checkout." : "None: any page may show the checkout."];
}
