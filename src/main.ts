/** The command line. Reads the arguments, calls what does the work, and says plainly what went wrong. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { ConfigError, type Role } from "./config.ts";
import { CannotStart } from "./demo/detached-server.ts";
import { type DatabaseKind, migrate } from "./migrations/migrate.ts";
import { generateKeyFile } from "./server-keys.ts";
import { version } from "./version.ts";

const roles: readonly Role[] = ["edge", "worker", "vault", "sandbox"];

const program = new Command("switchyard")
  .description("Payment sessions with gateway failover that can never capture twice.")
  .version(version)
  .showHelpAfterError()
  .addHelpText("after", "\nExample:\n  switchyard demo        everything on this machine, ready to be tried");

program
  .command("serve")
  .description("run one or more roles until SIGTERM, configured by SWITCHYARD_… variables")
  .requiredOption("--role <roles>", `comma-separated: ${roles.join(", ")}`, parseRoles)
  .addHelpText("after", "\nExample:\n  switchyard serve --role edge,worker")
  .action(async (options: { role: readonly Role[] }) => {
    const { serve } = await import("./serve.ts");
    const running = await serve(options.role);
    process.send?.("ready");
    await stopRequested();
    await running.close();
    // A connection that a peer keeps open must not keep a stopped process alive.
    process.exit(0);
  });

program
  .command("demo")
  .description("run everything on this machine: databases, NATS, gateways that pretend, a shop to pay in")
  .option("--port <port>", "first of six ports in a row on loopback", parsePort, 4400)
  .option("--state <folder>", "where data and secrets are kept", ".switchyard")
  .option(
    "--postgres <url>",
    "use this PostgreSQL (a role that may create databases and roles) instead of a private one",
  )
  .option("--nats <url>", "use this NATS with JetStream instead of a private one")
  .addHelpText("after", "\nExample:\n  npm start -- --port 5000")
  .action(async (options: { port: number; state: string; postgres?: string; nats?: string }) => {
    const { startDemo } = await import("./demo/demo.ts");
    const stop = stopRequested();
    const demo = await startDemo({ ...options, state: resolve(options.state) });
    await stop;
    console.log("\nStopping …");
    await demo.close();
    console.log("Stopped. The data is kept; `npm start` finds it again.");
    process.exit(0);
  });

program
  .command("migrate")
  .description("bring one database to the newest schema, as its owner")
  .requiredOption("--url <url>", "address of the database, as its owner")
  .requiredOption("--runtime-role <role>", "existing role that the service connects as")
  .addOption(
    new Option("--kind <kind>", "what the database is for")
      .choices(["environment", "accounts", "vault"])
      .makeOptionMandatory(),
  )
  .addHelpText(
    "after",
    "\nExample:\n  switchyard migrate --kind environment --url postgres://owner@db/switchyard_test --runtime-role switchyard_test",
  )
  .action(async (options: { url: string; runtimeRole: string; kind: DatabaseKind }) => {
    const { url: ownerUrl, runtimeRole, kind } = options;
    const applied = await migrate({ ownerUrl, runtimeRole, kind });
    console.log(applied.length === 0 ? "Nothing to do: the schema is up to date." : `Applied ${applied.join(", ")}.`);
  });

program
  .command("keys")
  .description("the server's own keys")
  .command("generate")
  .description("write a new key file; an existing one is never overwritten")
  .addOption(new Option("--environment <name>").choices(["test", "live"]).makeOptionMandatory())
  .requiredOption("--out <file>", "where to write it")
  .addHelpText(
    "after",
    "\nExample:\n  switchyard keys generate --environment live --out /etc/switchyard/keys-live.json",
  )
  .action((options: { environment: "test" | "live"; out: string }) => {
    mkdirSync(dirname(resolve(options.out)), { recursive: true });
    writeFileSync(options.out, generateKeyFile(options.environment), { mode: 0o600, flag: "wx" });
    console.log(`Wrote the keys of ${options.environment} to ${options.out}. Keep it secret and keep a copy.`);
  });

try {
  await program.parseAsync();
} catch (error) {
  // What a person can put right is said in one line; anything else is a bug and shows where.
  const isPlain = error instanceof CannotStart || error instanceof ConfigError || isSystemError(error);
  console.error(isPlain ? error.message : error);
  process.exit(1);
}

function parseRoles(text: string): readonly Role[] {
  const asked = text.split(",");
  const unknown = asked.filter((role) => !roles.some((known) => known === role));
  if (unknown.length > 0) throw new InvalidArgumentError(`Unknown role: ${unknown.join(", ")}.`);
  return roles.filter((role) => asked.includes(role));
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1024 || port > 65_530) {
    throw new InvalidArgumentError("It must be a number from 1024 to 65530.");
  }
  return port;
}

/** Resolves on SIGINT, SIGTERM, or when the process that started this one is gone. */
function stopRequested(): Promise<void> {
  return new Promise((done) => {
    process.once("SIGINT", () => done());
    process.once("SIGTERM", () => done());
    if (process.connected) process.once("disconnect", () => done());
  });
}

function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
