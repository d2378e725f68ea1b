/** `switchyard demo`: everything on this machine until Ctrl-C. */
import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { stopRequested } from "./stop-requested.ts";

/** Runs everything on this machine, until it is stopped. */
export function demoCommand(): Command {
  return new Command("demo")
    .description("run everything on this machine: databases, NATS, gateways that pretend, a shop to pay in")
    .option("--port <port>", "first of eight ports in a row on loopback", parsePort, 4400)
    .option("--state <folder>", "where data and secrets are kept", ".switchyard")
    .option(
      "--postgres <url>",
      "use this PostgreSQL (a role that may create databases and roles) instead of a private one",
    )
    .option("--nats <url>", "use this NATS with JetStream instead of a private one")
    .addHelpText("after", "\nExample:\n  npm start -- --port 5000")
    .action(async (options: { port: number; state: string; postgres?: string; nats?: string }) => {
      const { startDemo } = await import("../demo/demo.ts");
      const stop = stopRequested();
      const demo = await startDemo({ ...options, state: resolve(options.state) });
      await stop;
      console.log("\nStopping …");
      await demo.close();
      console.log("Stopped. The data is kept; `npm start` finds it again.");
      process.exit(0);
    });
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1024 || port > 65_530) {
    throw new InvalidArgumentError("It must be a number from 1024 to 65530.");
  }
  return port;
}
