/** The command line as a whole: every command under one name. The file of a command is loaded when it is called. */
import { Command } from "commander";
import { version } from "../version.ts";

type CommandRow = readonly [name: string, description: string, load: () => Promise<Command>];

/** The commands in the order of the help. */
const rows: readonly CommandRow[] = [
  [
    "demo",
    "run everything on this machine: databases, NATS, sandbox gateways and a demo shop",
    async () => (await import("./demo.ts")).demoCommand(),
  ],
  [
    "serve",
    "run one or more roles until SIGTERM, configured by SWITCHYARD_… variables",
    async () => (await import("./serve.ts")).serveCommand(),
  ],
  [
    "migrate",
    "migrate one database to the newest schema, as its owner",
    async () => (await import("./migrate.ts")).migrateCommand(),
  ],
  [
    "configuration",
    "list every setting that a process or a command reads (docs/configuration.md)",
    async () => (await import("./configuration.ts")).configurationCommand(),
  ],
  [
    "doctor",
    "check settings, databases, NATS, keys, certificates and pending work (docs/doctor.md); exits with 1 for warnings, 2 for problems",
    async () => (await import("./doctor.ts")).doctorCommand(),
  ],
  [
    "retention",
    "show or set how long an environment's database keeps payments and the delivery log, as its owner",
    async () => (await import("./retention.ts")).retentionCommand(),
  ],
  [
    "server-keys",
    "the installation's own keys (merchants' API keys: switchyard keys)",
    async () => (await import("./server-keys.ts")).serverKeysCommand(),
  ],
  [
    "restore",
    "steps after a database was restored from a backup, or a replica was promoted (docs/backup.md)",
    async () => (await import("./restore.ts")).restoreCommand(),
  ],
  [
    "operator",
    "people who may administer an installation with this command line",
    async () => (await import("./operator.ts")).operatorsCommand(),
  ],
  ["merchant", "the merchants of an installation", async () => (await import("./merchant.ts")).merchantsCommand()],
  ["cell", "the databases among which merchants are spread", async () => (await import("./cell.ts")).cellCommand()],
  ["member", "people who sign in to the dashboard", async () => (await import("./member.ts")).membersCommand()],
  [
    "keys",
    "a merchant's API keys (the installation's own keys: switchyard server-keys)",
    async () => (await import("./keys.ts")).keysCommand(),
  ],
  [
    "export",
    "a merchant's configuration as a file for a repository (docs/configuration-as-code.md)",
    async () => (await import("./configuration-file.ts")).exportCommand(),
  ],
  [
    "plan",
    "the changes that a configuration file would make",
    async () => (await import("./configuration-file.ts")).planCommand(),
  ],
  [
    "apply",
    "make a merchant's configuration what a file says",
    async () => (await import("./configuration-file.ts")).applyCommand(),
  ],
  [
    "rpc",
    "call any method of the dashboard: payments, refunds, gateways, webhooks, alerts and settings as JSON",
    async () => (await import("./rpc.ts")).rpcCommand(),
  ],
  [
    "wallet",
    "Apple Pay and Google Pay of a merchant: country, keys and domains",
    async () => (await import("./wallet.ts")).walletCommand(),
  ],
  [
    "blocklist",
    "cards, e-mail addresses and networks whose payments are declined before any gateway is called",
    async () => (await import("./blocklist.ts")).blocklistCommand(),
  ],
  [
    "listen",
    "forward a merchant's test events, signed, to a server on this machine until Ctrl-C",
    async () => (await import("./listen.ts")).listenCommand(),
  ],
  [
    "session",
    "payment sessions, over the public REST API like a merchant's backend",
    async () => (await import("./session.ts")).sessionCommand(),
  ],
];

/** Returns all commands; those that are not called have no options, arguments and subcommands. */
export async function createProgram(isCalled: (name: string) => boolean = () => true): Promise<Command> {
  const program = new Command("switchyard")
    .description("Payment sessions with gateway failover that can never capture twice.")
    .version(version)
    .showHelpAfterError("\nTo list the commands: switchyard help")
    .addHelpText("after", "\nExample:\n  switchyard demo        run everything on this machine");
  for (const [name, description, load] of rows) {
    const command = isCalled(name) ? await load() : new Command(name);
    program.addCommand(command.description(description));
  }
  return program;
}
