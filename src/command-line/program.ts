/** The command line as a whole: every command under one name. The file of a command is loaded when it is called. */
import { Command } from "commander";
import { version } from "../version.ts";

type CommandRow = readonly [name: string, description: string, load: () => Promise<Command>];

/** In the order of the help. */
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
    "connection",
    "a merchant's accounts at gateways, and at providers of authentication",
    async () => (await import("./connection.ts")).connectionCommand(),
  ],
  [
    "gateway",
    "available gateways, and the health of a merchant's accounts there",
    async () => (await import("./gateway.ts")).gatewayCommand(),
  ],
  [
    "routing",
    "order of a merchant's gateways, and the failures that lead to the next one",
    async () => (await import("./routing.ts")).routingCommand(),
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
    "origins",
    "origins of pages that may show a merchant's checkout",
    async () => (await import("./origins.ts")).originsCommand(),
  ],
  [
    "wallet",
    "Apple Pay and Google Pay of a merchant: country, keys and domains",
    async () => (await import("./wallet.ts")).walletCommand(),
  ],
  ["settings", "checkout settings of a merchant", async () => (await import("./settings.ts")).settingsCommand()],
  ["customer", "stored data of a merchant's customers", async () => (await import("./customer.ts")).customerCommand()],
  [
    "blocklist",
    "cards, e-mail addresses and networks whose payments are declined before any gateway is called",
    async () => (await import("./blocklist.ts")).blocklistCommand(),
  ],
  ["endpoint", "webhook endpoints of a merchant", async () => (await import("./endpoint.ts")).endpointCommand()],
  [
    "delivery",
    "webhook deliveries of a merchant's events, and how to send them again",
    async () => (await import("./delivery.ts")).deliveryCommand(),
  ],
  [
    "listen",
    "forward a merchant's test events, signed, to a server on this machine until Ctrl-C",
    async () => (await import("./listen.ts")).listenCommand(),
  ],
  [
    "alert",
    "alerts of a merchant: webhook endpoints that fail, and how all alerts are sent",
    async () => (await import("./alert.ts")).alertCommand(),
  ],
  [
    "analytics",
    "outcomes of a merchant's payments over time",
    async () => (await import("./analytics.ts")).analyticsCommand(),
  ],
  [
    "audit",
    "audit trail of changes to a merchant's configuration",
    async () => (await import("./audit.ts")).auditCommand(),
  ],
  [
    "work-queue",
    "alarms that need a person, for all merchants of an environment",
    async () => (await import("./work-queue.ts")).workQueueCommand(),
  ],
  [
    "reconciliation",
    "the hourly reconciliation of payments with the gateways' own records",
    async () => (await import("./reconciliation.ts")).reconciliationCommand(),
  ],
  [
    "session",
    "payment sessions, over the public REST API like a merchant's backend",
    async () => (await import("./session.ts")).sessionCommand(),
  ],
  [
    "payment",
    "a merchant's payments: list, search, show, export as CSV, capture or cancel held ones, and end attempts",
    async () => (await import("./payment.ts")).paymentCommand(),
  ],
  [
    "refund",
    "refunds of captured payments: make, list, show, export as CSV, and record the end of one",
    async () => (await import("./refund.ts")).refundCommand(),
  ],
  [
    "ledger",
    "every capture, refund and void of past days, to compare with the gateways' statements",
    async () => (await import("./ledger.ts")).ledgerCommand(),
  ],
];

/** Returns all commands; those that are not called have no options, arguments and subcommands. */
export async function createProgram(isCalled: (name: string) => boolean = () => true): Promise<Command> {
  const program = new Command("switchyard")
    .description("Payment sessions with gateway failover that can never capture twice.")
    .version(version)
    .showHelpAfterError()
    .addHelpText("after", "\nExample:\n  switchyard demo        run everything on this machine");
  for (const [name, description, load] of rows) {
    const command = isCalled(name) ? await load() : new Command(name);
    program.addCommand(command.description(description));
  }
  return program;
}
