/** `switchyard demo`: everything on this machine until Ctrl-C. */
import { resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { stopRequested } from "./stop-requested.ts";

type DemoCommandOptions = {
  readonly port: number;
  readonly state: string;
  readonly postgres?: string;
  readonly nats?: string;
  readonly demoTraffic?: string;
};

/** Runs everything on this machine, until it is stopped. */
export function demoCommand(): Command {
  return new Command("demo")
    .description("run everything on this machine: databases, NATS, gateways that pretend, a shop to pay in")
    .option("--port <port>", "first of eleven ports in a row on loopback", parsePort, 4400)
    .option("--state <folder>", "where data and secrets are kept", ".switchyard")
    .option(
      "--postgres <url>",
      "use this PostgreSQL (a role that may create databases and roles) instead of a private one",
    )
    .option("--nats <url>", "use this NATS with JetStream instead of a private one")
    .addOption(
      new Option(
        "--demo-traffic [seed]",
        "begin with a week of payments, made through the API, which takes a few minutes",
      )
        .preset("week")
        .argParser(parseSeed),
    )
    .addHelpText("after", "\nExamples:\n  npm start -- --port 5000\n  npm start -- --demo-traffic")
    .action(async ({ demoTraffic, ...options }: DemoCommandOptions) => {
      const { startDemo } = await import("../demo/demo.ts");
      const stop = stopRequested();
      const demo = await startDemo({ ...options, state: resolve(options.state), traffic: demoTraffic });
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

/** It begins the order references of the payments. */
function parseSeed(text: string): string {
  if (/^[A-Za-z0-9-]{1,40}$/.test(text)) return text;
  throw new InvalidArgumentError("It must be 1 to 40 letters, digits and hyphens.");
}
