/** `switchyard wallet`: a merchant's set-up of Apple Pay and Google Pay. */
import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import type { DashboardClient, WalletsView } from "../client/dashboard-client.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";
import { table } from "./output.ts";

export function walletCommand(): Command {
  return new Command("wallet")
    .addCommand(showCommand())
    .addCommand(setCountryCommand())
    .addCommand(createKeyCommand())
    .addCommand(useKeyCommand())
    .addCommand(eraseKeyCommand())
    .addCommand(setDomainFileCommand())
    .addCommand(checkDomainCommand());
}

type KeyView = NonNullable<WalletsView["keys"]>[number];

const kinds = {
  "apple-payment": "WALLET_KEY_KIND_APPLE_PAYMENT",
  "apple-identity": "WALLET_KEY_KIND_APPLE_IDENTITY",
  google: "WALLET_KEY_KIND_GOOGLE",
} as const;
type Kind = keyof typeof kinds;

const kindNames = Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [kind, name]));

const states: Readonly<Record<string, string>> = {
  STATE_STAGED: "not used yet",
  STATE_ACTIVE: "in use",
  STATE_RETIRING: "retiring",
};

function showCommand(): Command {
  return merchantCommand("show", {
    description: "show the wallets that checkouts offer, the keys and the domains",
    example: "switchyard wallet show --environment live",
  }).action(async (options: MerchantOptions) => {
    await showAfter(options, ({ wallets }) => wallets.getWallets(scopeOf(options)));
  });
}

function setCountryCommand(): Command {
  return merchantCommand("set-country", {
    description: "set the country of the merchant's business, which both wallets show to banks",
    example: "switchyard wallet set-country DE --environment live",
  })
    .argument("<country>", "two letters, such as DE")
    .action(async (country: string, options: MerchantOptions) => {
      await showAfter(options, ({ wallets }) =>
        wallets.setWalletCountry({ ...scopeOf(options), countryCode: country.toUpperCase() }),
      );
    });
}

function createKeyCommand(): Command {
  return merchantCommand("create-key", {
    description: "make a key, which is not used before use-key; prints what Apple or Google has to get",
    example: "switchyard wallet create-key --kind apple-payment --recipient merchant.com.example",
  })
    .addOption(kindOption())
    .requiredOption("--recipient <id>", "Apple’s merchant identifier, or Google’s merchant ID")
    .action(async (options: MerchantOptions & { kind: Kind; recipient: string }) => {
      const { kind, recipient } = options;
      await administer(
        options,
        ({ wallets }) => wallets.createWalletKey({ ...scopeOf(options), kind: kinds[kind], recipient }),
        ({ wallets }) => {
          const key = wallets?.keys?.find((one) => one.kind === kinds[kind]);
          return [`Made ${key?.id}. It is not used yet.`, key?.signingRequest || `Public key: ${key?.publicKey}`];
        },
      );
    });
}

function useKeyCommand(): Command {
  return merchantCommand("use-key", {
    description: "use a key from now on, or its renewed certificate; its wallet is then offered",
    example:
      "switchyard wallet use-key 01a2295c-e443-7099-a4ca-9fe233efe2e4 --certificate apple_pay.cer --environment live",
  })
    .argument("<key>", "id of the key")
    .option("--certificate <file>", "Apple’s certificate, as downloaded or in PEM; none for Google")
    .action(async (id: string, options: MerchantOptions & { certificate?: string }) => {
      const { certificate: file } = options;
      await showAfter(options, async ({ wallets }) => {
        const { kind } = keyOf((await wallets.getWallets(scopeOf(options))).wallets, id);
        const certificate = file === undefined ? "" : readFileSync(file).toString("base64");
        return wallets.activateWalletKey({ ...scopeOf(options), kind: kind!, id, certificate });
      });
    });
}

function eraseKeyCommand(): Command {
  return merchantCommand("erase-key", {
    description: "erase a key at once; without another one in use its wallet is offered no more",
    example: "switchyard wallet erase-key 01a2295c-e443-7099-a4ca-9fe233efe2e4 --environment live",
  })
    .argument("<key>", "id of the key")
    .action(async (id: string, options: MerchantOptions) => {
      await showAfter(options, async ({ wallets }) => {
        const { kind } = keyOf((await wallets.getWallets(scopeOf(options))).wallets, id);
        return wallets.dropWalletKey({ ...scopeOf(options), kind: kind!, id });
      });
    });
}

function setDomainFileCommand(): Command {
  return merchantCommand("set-domain-file", {
    description: "store the file by which Apple verifies domains, and serve it",
    example: "switchyard wallet set-domain-file apple-developer-merchantid-domain-association",
  })
    .argument("<file>", "Apple’s file")
    .action(async (file: string, options: MerchantOptions) => {
      const domainFile = readFileSync(file, "utf8");
      await showAfter(options, ({ wallets }) => wallets.setDomainFile({ ...scopeOf(options), domainFile }));
    });
}

function checkDomainCommand(): Command {
  return merchantCommand("check-domain", {
    description: "compare the domain file with what a checkout origin serves; exits with 1 if it differs",
    example: "switchyard wallet check-domain https://shop.example.com --environment live",
  })
    .argument("<origin>", "a checkout origin, such as https://shop.example.com")
    .action(async (origin: string, options: MerchantOptions) => {
      const { passed } = await administer(
        options,
        ({ wallets }) => wallets.checkDomain({ ...scopeOf(options), origin }),
        (answer) => [
          answer.passed ? `${origin} serves the file.` : `${origin} does not serve this file, or redirects.`,
        ],
      );
      if (!passed) process.exitCode = 1;
    });
}

/** Calls, and prints the merchant's wallets as they are afterwards. */
async function showAfter(
  options: MerchantOptions,
  call: (dashboard: DashboardClient) => Promise<{ wallets?: WalletsView }>,
): Promise<void> {
  await administer(options, call, ({ wallets }) => describe(wallets));
}

function kindOption(): Option {
  return new Option("--kind <kind>", "what the key is for").choices(Object.keys(kinds)).makeOptionMandatory();
}

function keyOf(wallets: WalletsView | undefined, id: string): KeyView {
  const key = wallets?.keys?.find((one) => one.id === id);
  if (key === undefined) throw new UsageError(`The merchant has no key ${id} of a wallet in this environment.`);
  return key;
}

function describe(wallets: WalletsView = {}): readonly string[] {
  if (!wallets.supported) return ["Wallets need the card vault of this installation; yours is an external one."];
  const { offered = [], countryCode, keys = [], domains = [] } = wallets;
  return [
    `Offered: ${offered.join(", ") || "none"}`,
    `Country: ${countryCode || "not set"}`,
    ...table(
      ["KEY", "KIND", "STATE", "FOR", "MADE", "CERTIFICATE ENDS"],
      keys.map(({ id = "", kind = "", state = "", recipient = "", createdAt = "", certificateEndsAt = "" }) => [
        id,
        kindNames[kind] ?? kind,
        states[state] ?? state,
        recipient,
        createdAt,
        certificateEndsAt,
      ]),
      "No key.",
    ),
    ...table(
      ["DOMAIN", "CHECKED"],
      domains.map(({ origin = "", checkedAt = "" }) => [origin, checkedAt || "never"]),
      "No domain: add checkout origins.",
    ),
  ];
}
