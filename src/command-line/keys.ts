/** `switchyard keys`: a merchant's API keys. The installation's own keys are `switchyard server-keys`. */
import { resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { recordDemoKey } from "../demo/demo-file.ts";
import { parseAmount } from "./amounts.ts";
import { administer, isDemo, type MerchantOptions, merchantCommand, scopeOf } from "./attachment.ts";
import { amountOf, table } from "./output.ts";
import { parseTime } from "./times.ts";

export function keysCommand(): Command {
  return new Command("keys")
    .addCommand(listCommand())
    .addCommand(createCommand())
    .addCommand(rollCommand())
    .addCommand(regenerateCommand())
    .addCommand(revokeCommand());
}

function listCommand(): Command {
  return merchantCommand("list", {
    description:
      "list the keys: the publishable one whole, others by their last four characters; with rights, caps, last use and ends",
    example: "switchyard keys list --environment live",
  }).action(async (options: MerchantOptions) => {
    await administer(
      options,
      ({ apiKeys }) => apiKeys.listApiKeys(scopeOf(options)),
      ({ apiKeys = [] }) =>
        table(
          ["ID", "KIND", "NAME", "KEY", "RIGHTS", "REFUNDS A DAY", "SINCE", "LAST USED", "ENDS"],
          apiKeys.map(({ keyId = "", kind = "", name = "", rights = [], createdAt = "", ...key }) => [
            keyId,
            key.endsAt ? `${kind} (rolled)` : kind,
            name,
            key.key || `${key.prefix}…${key.last4}`,
            kind === "SECRET" ? "all" : rights.join(", "),
            kind === "RESTRICTED" && rights.includes("refunds.create") ? capOf(key) : "",
            createdAt,
            key.lastUsedAt ?? "",
            key.endsAt ?? key.expiresAt ?? "",
          ]),
          "The merchant has no key in this environment.",
        ),
    );
  });
}

function capOf({ refundCap = [] }: { readonly refundCap?: readonly Parameters<typeof amountOf>[0][] }): string {
  return refundCap.length === 0 ? "no limit" : refundCap.map(amountOf).join(", ");
}

function createCommand(): Command {
  return merchantCommand("create", {
    description: "create a restricted key, whose rights never change; it is shown only once (docs/keys-and-rights.md)",
    example:
      'switchyard keys create --name "Back office" --rights refunds.create --refund-cap 500.00EUR --environment live',
  })
    .requiredOption("--name <name>", "name of the system that uses it")
    .requiredOption("--rights <rights>", "comma-separated rights, such as refunds.create,sessions.read")
    .option("--expires <time>", "when the key ends, such as 2027-06-30T00:00:00Z (default: never)", parseTime)
    .option(
      "--refund-cap <caps>",
      "what it may refund per day (UTC), such as 500.00EUR,200.00USD (default: no limit)",
      parseCaps,
    )
    .action(async (options: MerchantOptions & CreateOptions) => {
      const { name, rights, expires, refundCap = [] } = options;
      await administer(
        options,
        ({ apiKeys }) =>
          apiKeys.createRestrictedKey({
            ...scopeOf(options),
            name,
            rights: rights.split(","),
            refundCap,
            ...(expires && { expiresAt: expires }),
          }),
        ({ key = "", apiKey }) => [key, `This key, ${apiKey?.keyId}, is not shown again.`],
      );
    });
}

type CreateOptions = {
  readonly name: string;
  readonly rights: string;
  readonly expires?: string;
  readonly refundCap?: { currency: string; amountMinor: string }[];
};

function parseCaps(text: string): { currency: string; amountMinor: string }[] {
  // A comma after a currency: others are of an amount, as in 1.234,50EUR.
  return text.split(/(?<=[A-Za-z]{3}\s*),/).map((cap) => {
    const { currency, amountMinor } = parseAmount(cap);
    return { currency, amountMinor: String(amountMinor) };
  });
}

function rollCommand(): Command {
  return merchantCommand("roll", {
    description: "make the next key of a secret or restricted one; the old one works for some hours longer",
    example: "switchyard keys roll key_01h455vb4pex5vsknk084sn02q --old-key-hours 24 --environment live",
  })
    .argument("<key>", "id of the key")
    .requiredOption("--old-key-hours <hours>", "for how long the old key works: 1 to 168", parseHours)
    .action(async (keyId: string, options: MerchantOptions & { oldKeyHours: number }) => {
      const { key: next = "" } = await administer(
        options,
        ({ apiKeys }) =>
          apiKeys.rollApiKey({ ...scopeOf(options), keyId, oldKeySeconds: String(options.oldKeyHours * 3_600) }),
        ({ key = "", oldKeyEndsAt }) => [key, `The old key works until ${oldKeyEndsAt}. This one is not shown again.`],
      );
      if (!isDemo(options) || !next.includes("_sk_")) return;
      const { merchantId } = scopeOf(options);
      recordDemoKey(resolve(options.demo), {
        merchantId,
        environment: options.environment,
        credentials: { secretKey: next },
      });
    });
}

function parseHours(text: string): number {
  const hours = Number(text);
  if (/^[0-9]{1,3}$/.test(text) && hours >= 1 && hours <= 168) return hours;
  throw new InvalidArgumentError("It must be a whole number of hours, 1 to 168.");
}

function revokeCommand(): Command {
  return merchantCommand("revoke", {
    description: "end a restricted key immediately, or the old key of a roll",
    example: "switchyard keys revoke key_01h455vb4pex5vsknk084sn02q --environment live",
  })
    .argument("<key>", "id of the key")
    .option("--replaced-only", "end only the old key of a roll", false)
    .action(async (keyId: string, options: MerchantOptions & { replacedOnly: boolean }) => {
      const { replacedOnly } = options;
      await administer(
        options,
        ({ apiKeys }) => apiKeys.revokeApiKey({ ...scopeOf(options), keyId, replacedOnly }),
        () => ["The key no longer works."],
      );
    });
}

function regenerateCommand(): Command {
  return merchantCommand("regenerate", {
    description:
      "replace the secret or publishable key; the old one stops working immediately, the new one is shown only once",
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
