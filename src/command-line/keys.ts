/** `switchyard keys`: a merchant's API keys. The installation's own keys are `switchyard server-keys`. */
import { resolve } from "node:path";
import { Command, Option } from "commander";
import { recordDemoKey } from "../demo/demo-file.ts";
import { administer, isDemo, type MerchantOptions, merchantCommand, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";

export function keysCommand(): Command {
  return new Command("keys").addCommand(listCommand()).addCommand(regenerateCommand());
}

function listCommand(): Command {
  return merchantCommand("list", {
    description: "list the active keys: the publishable one whole, the secret one by its last four characters",
    example: "switchyard keys list --environment live",
  }).action(async (options: MerchantOptions) => {
    await administer(
      options,
      ({ apiKeys }) => apiKeys.listApiKeys(scopeOf(options)),
      ({ apiKeys = [] }) =>
        table(
          ["KIND", "KEY", "SINCE"],
          apiKeys.map(({ kind = "", prefix, last4, createdAt = "", key }) => [
            kind,
            key || `${prefix}…${last4}`,
            createdAt,
          ]),
          "The merchant has no key in this environment.",
        ),
    );
  });
}

function regenerateCommand(): Command {
  return merchantCommand("regenerate", {
    description: "replace a key; the old one stops working immediately, the new one is shown only once",
    example: "switchyard keys regenerate --kind secret --merchant mer_01h455vb4pex5vsknk084sn02q --environment live",
  })
    .addOption(new Option("--kind <kind>", "kind of key").choices(["secret", "publishable"]).makeOptionMandatory())
    .action(async (options: MerchantOptions & { kind: "secret" | "publishable" }) => {
      const scope = scopeOf(options);
      const kind = options.kind === "secret" ? "SECRET" : "PUBLISHABLE";
      const { key = "" } = await administer(
        options,
        ({ apiKeys }) => apiKeys.regenerateApiKey({ ...scope, kind }),
        (answer) => [
          answer.key ?? "",
          "The old key no longer works. This one is not shown again.",
          ...(isDemo(options)
            ? ["It was written to the demo's file; the demo shop uses it from the demo's next start."]
            : []),
        ],
      );
      if (!isDemo(options)) return;
      const credentials = options.kind === "secret" ? { secretKey: key } : { publishableKey: key };
      const { merchantId } = scope;
      recordDemoKey(resolve(options.demo), { merchantId, environment: options.environment, credentials });
    });
}
