/** `switchyard server-keys`: the installation's own keys. Merchants' API keys are `switchyard keys`. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Command, Option } from "commander";
import { addService } from "../accounts/services-file.ts";
import { generateAccountsKeyFile, parseAccountsKeyFile } from "../config/dashboard-settings.ts";
import {
  generateKeyFile,
  generateVaultKeyFile,
  parseKeyFile,
  parseVaultKeys,
  separateVaultKeys,
} from "../config/server-keys.ts";
import { resealStored } from "../platform/store-ring.ts";
import { resealWalletKeys } from "../platform/wallet-ring.ts";
import { describedCommand, UsageError } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";
import { addOwnerUrl, type OwnerUrlOptions, onOwnerDatabase } from "./owner-url.ts";
import { readKeyFile, rotateCommand } from "./rotate-keys.ts";

export function serverKeysCommand(): Command {
  return new Command("server-keys")
    .addCommand(generateCommand())
    .addCommand(generateAccountsCommand())
    .addCommand(separateCommand())
    .addCommand(rotateCommand())
    .addCommand(resealCommand())
    .addCommand(resealAccountsCommand())
    .addCommand(resealStoredCardsCommand())
    .addCommand(resealWalletKeysCommand())
    .addCommand(addServiceCommand());
}

function generateCommand(): Command {
  return describedCommand("generate", {
    description:
      "write new key files, one for edge, worker and dashboard and one for the vault; an existing one is never overwritten",
    example: "switchyard server-keys generate --environment live --out /etc/switchyard/keys-live.json",
  })
    .addOption(environmentOption("environment of the keys"))
    .requiredOption("--out <file>", "file to create for edge, worker and dashboard")
    .option("--vault-out <file>", "file to create for the vault (default: vault-… beside the other)")
    .action((options: OutputOptions & { environment: "test" | "live"; out: string; vaultOut?: string }) => {
      const { out, vaultOut = join(dirname(out), `vault-${basename(out)}`) } = options;
      const keyFile = generateKeyFile(options.environment);
      writeNew(out, keyFile);
      try {
        writeNew(vaultOut, generateVaultKeyFile(keyFile));
      } catch (error) {
        // Neither file is of use without the other.
        rmSync(out);
        throw error;
      }
      print(options, { file: out, vaultFile: vaultOut }, () => [
        `Wrote the keys of ${options.environment} to ${out}, and the vault's to ${vaultOut}.`,
        "Keep both secret and keep copies. Give the vault's file to the vault only, and never give it the other.",
      ]);
    });
}

function generateAccountsCommand(): Command {
  return describedCommand("generate-accounts", {
    description: "write a new key file for the dashboard, which belongs to both environments",
    example: "switchyard server-keys generate-accounts --out /etc/switchyard/keys-accounts.json",
  })
    .requiredOption("--out <file>", "file to create; an existing file is never overwritten")
    .action((options: OutputOptions & { out: string }) => {
      writeNew(options.out, generateAccountsKeyFile());
      print(options, { file: options.out }, () => [
        `Wrote the dashboard's keys to ${options.out}. Keep it secret and keep a copy: members' apps need it.`,
      ]);
    });
}

function separateCommand(): Command {
  return describedCommand("separate", {
    description: "move the vault's keys out of a shared key file into a separate new file",
    example: "switchyard server-keys separate --keys keys-live.json --vault-out vault-keys-live.json",
  })
    .requiredOption("--keys <file>", "key file to change")
    .requiredOption("--vault-out <file>", "file to create for the vault; an existing file is never overwritten")
    .action((options: OutputOptions & { keys: string; vaultOut: string }) => {
      const { keyFile, vaultKeyFile } = readKeyFile(options.keys, separateVaultKeys);
      writeNew(options.vaultOut, vaultKeyFile);
      writeFileSync(options.keys, keyFile, { mode: 0o600 });
      print(options, { file: options.keys, vaultFile: options.vaultOut }, () => [
        `Moved the vault's keys from ${options.keys} to ${options.vaultOut}.`,
      ]);
    });
}

function writeNew(path: string, text: string): void {
  if (existsSync(path)) throw new UsageError(`${path} exists already and is never overwritten. Choose another name.`);
  mkdirSync(dirname(resolve(path)), { recursive: true });
  writeFileSync(path, text, { mode: 0o600, flag: "wx" });
}

function addServiceCommand(): Command {
  return describedCommand("add-service", {
    description: "let an internal service call the gRPC port, for some merchants and with some rights (docs/grpc.md)",
    example:
      "switchyard server-keys add-service --name orders --environment live --merchants mer_01h455vb4pex5vsknk084sn02q --rights sessions.create,sessions.read --services services.json --out orders.pem",
  })
    .requiredOption("--name <name>", "name of the service; an existing service gets a new key")
    .addOption(environmentOption("its environment"))
    .requiredOption("--merchants <ids>", "comma-separated ids of the merchants for which it calls, or * for all")
    .requiredOption("--rights <rights>", "comma-separated rights, such as sessions.create,sessions.read")
    .requiredOption("--services <file>", "file of services, SWITCHYARD_SERVICES_FILE of the edge; made if it is absent")
    .requiredOption(
      "--out <file>",
      "file to create for the service's private key; an existing file is never overwritten",
    )
    .action((options: OutputOptions & AddServiceOptions) => {
      const { name, environment, merchants, rights, services } = options;
      const { file, privateKey } = addService(existsSync(services) ? readFileSync(services, "utf8") : "[]", {
        name,
        environment,
        merchants: merchants === "*" ? merchants : merchants.split(","),
        rights: rights.split(","),
      });
      writeNew(options.out, privateKey);
      writeFileSync(services, file);
      print(options, { file: options.out }, () => [
        `Wrote the key of ${options.name} to ${options.out}. Give it to that service only. The edge admits it within ten seconds.`,
      ]);
    });
}

type AddServiceOptions = Readonly<Record<"name" | "environment" | "merchants" | "rights" | "services" | "out", string>>;

function environmentOption(description: string): Option {
  return new Option("--environment <name>", description).choices(["test", "live"]).makeOptionMandatory();
}

type Options = OutputOptions & OwnerUrlOptions & { readonly accountsKeys: string };

export function resealAccountsCommand(): Command {
  const command = describedCommand("reseal-accounts", {
    description:
      "seal members' authenticator apps and waiting calls again with the current key, before the old key is dropped",
    example:
      "switchyard server-keys reseal-accounts --accounts-keys keys-accounts.json --url postgres://owner@db/switchyard_accounts",
  });
  return addOwnerUrl(command)
    .requiredOption("--accounts-keys <file>", "key file of the dashboard, which contains both keys")
    .action(async (options: Options) => {
      const ring = readKeyFile(options.accountsKeys, parseAccountsKeyFile);
      const { resealTotp } = await import("../accounts/reseal-totp.ts");
      const { resealApprovals } = await import("../accounts/reseal-approvals.ts");
      await onOwnerDatabase(options, async (database) => {
        const members = await resealTotp(database, ring);
        const approvals = await resealApprovals(database, ring);
        print(options, { members, approvals }, () => [
          `Sealed the apps of ${members} members and ${approvals} waiting calls with ${ring.current}.`,
        ]);
      });
    });
}

type ResealOptions = OutputOptions &
  OwnerUrlOptions & {
    readonly environment: "test" | "live";
    readonly keys: string;
  };

/**
 * Seals gateways' credentials, signing secrets, the handles of stored cards and the files of disputes with the current key. Stored idempotent answers expire by themselves.
 */
export function resealCommand(): Command {
  const command = describedCommand("reseal", {
    description:
      "seal gateways' credentials, webhook secrets, the handles of stored cards and the files of disputes again with the current key, before the old key is dropped",
    example:
      "switchyard server-keys reseal --environment live --keys keys-live.json --url postgres://owner@db/switchyard_live",
  });
  return addOwnerUrl(command)
    .addOption(environmentOption("environment of the database"))
    .requiredOption("--keys <file>", "key file of edge, worker and dashboard, which contains both sealing keys")
    .action(async (options: ResealOptions) => {
      const { environment: environmentName, keys } = options;
      const { sealing } = readKeyFile(keys, (text) => parseKeyFile(text, environmentName));
      const { resealIdentities } = await import("../accounts/merchant-wallets.ts");
      const { resealHandles } = await import("../core/stored-cards/reseal-handles.ts");
      const { resealDisputes } = await import("../disputes/reseal-contents.ts");
      const { resealAlertChats } = await import("../events/alert-settings.ts");
      const { resealSigningSecrets } = await import("../events/signing-secrets.ts");
      const { resealCredentials } = await import("../gateways/reseal-credentials.ts");
      await onOwnerDatabase(options, async (database) => {
        const credentials = await resealCredentials(database, sealing);
        const endpoints = await resealSigningSecrets(database, { sealing, environmentName });
        const chats = await resealAlertChats(database, { sealing, environmentName });
        const cards = await resealHandles(database, sealing);
        const disputes = await resealDisputes(database, sealing);
        const identities = await database.transaction((tx) => resealIdentities(tx, sealing));
        print(options, { credentials, endpoints, chats, cards, disputes, identities }, () => [
          `Sealed ${credentials} credentials and the secrets of ${endpoints} endpoints with ${sealing.current}.`,
          ...(chats > 0 ? [`Sealed ${chats} chats for alerts with ${sealing.current}.`] : []),
          ...(cards > 0 ? [`Sealed the handles of ${cards} stored cards with ${sealing.current}.`] : []),
          ...(disputes > 0 ? [`Sealed ${disputes} files and explanations of disputes with ${sealing.current}.`] : []),
          ...(identities > 0 ? [`Sealed ${identities} identities at Apple with ${sealing.current}.`] : []),
        ]);
      });
    });
}

type ResealVaultOptions = OutputOptions &
  OwnerUrlOptions & { readonly environment: "test" | "live"; readonly vaultKeys: string };

// Often enough to see that it continues.
const progressEveryMs = 1_000;

/** Seals stored cards with the store ring's current key. Vaults serve meanwhile, and no card is opened. */
function resealStoredCardsCommand(): Command {
  const command = describedCommand("reseal-stored-cards", {
    description: "seal stored cards again with the current key of the store ring, before the old key is dropped",
    example:
      "switchyard server-keys reseal-stored-cards --environment live --vault-keys vault-keys-live.json --url postgres://owner@db-vault/vault",
  });
  return addOwnerUrl(command)
    .addOption(environmentOption("environment of the cards"))
    .requiredOption("--vault-keys <file>", "key file of the vault, which contains both keys")
    .action(async (options: ResealVaultOptions) => {
      const { environment, vaultKeys } = options;
      const { storeRing: ring } = readKeyFile(vaultKeys, (text) => parseVaultKeys(text, environment));
      if (ring === undefined) throw new UsageError(`${vaultKeys} has no store ring. Add one: rotate --key store-ring.`);
      let reportedAt = performance.now();
      const report = (done: number, of: number) => {
        if (performance.now() - reportedAt < progressEveryMs && done < of) return;
        reportedAt = performance.now();
        console.error(`Sealed ${done} of ${of} cards.`);
      };
      await onOwnerDatabase(options, async (database) => {
        const cards = await resealStored(database, { environment, ring, report });
        print(options, { cards }, () => [`Sealed ${cards} stored cards with ${ring.current}.`]);
      });
    });
}

/** Seals the keys of Apple Pay and Google Pay with the wallet ring's current key. Vaults serve meanwhile. */
function resealWalletKeysCommand(): Command {
  const command = describedCommand("reseal-wallet-keys", {
    description:
      "seal the keys of Apple Pay and Google Pay again with the current key of the wallet ring, before the old key is dropped",
    example:
      "switchyard server-keys reseal-wallet-keys --environment live --vault-keys vault-keys-live.json --url postgres://owner@db-vault/vault",
  });
  return addOwnerUrl(command)
    .addOption(environmentOption("environment of the keys"))
    .requiredOption("--vault-keys <file>", "key file of the vault, which contains both keys")
    .action(async (options: ResealVaultOptions) => {
      const { environment, vaultKeys } = options;
      const { walletRing: ring } = readKeyFile(vaultKeys, (text) => parseVaultKeys(text, environment));
      if (ring === undefined)
        throw new UsageError(`${vaultKeys} has no wallet ring. Add one: rotate --key wallet-ring.`);
      await onOwnerDatabase(options, async (database) => {
        const keys = await resealWalletKeys(database, { environment, ring });
        print(options, { keys }, () => [`Sealed ${keys} keys of wallets with ${ring.current}.`]);
      });
    });
}
