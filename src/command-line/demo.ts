/** `switchyard demo`: runs the whole product on this machine until Ctrl-C. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { exitSoon } from "../platform/process-end.ts";
import { stopRequested } from "./stop-requested.ts";

type DemoCommandOptions = {
  readonly port: number;
  readonly state: string;
  readonly temporary?: boolean;
  readonly postgres?: string;
  readonly nats?: string;
  readonly demoTraffic?: string;
  readonly examples: boolean;
};

export function demoCommand(): Command {
  return new Command("demo")
    .option("--port <port>", "first of eleven consecutive ports on loopback", parsePort, 4400)
    .option("--state <folder>", "folder for data and secrets", ".switchyard")
    .addOption(
      new Option("--temporary", "use a new folder instead, and remove it with all data at the stop").conflicts("state"),
    )
    .option(
      "--postgres <url>",
      "use this PostgreSQL (a role that may create databases and roles) instead of a private one",
    )
    .option("--nats <url>", "use this NATS with JetStream instead of a private one")
    .addOption(
      new Option(
        "--demo-traffic [seed]",
        "make a week of payments through the API in the background; this takes two minutes or three",
      )
        .preset("week")
        .argParser(parseSeed),
    )
    .option("--no-examples", "do not make the example payments of a first start")
    .addHelpText("after", "\nExamples:\n  npm start -- --port 5000\n  npm start -- --demo-traffic")
    .action(async ({ demoTraffic, temporary: isTemporary = false, ...options }: DemoCommandOptions) => {
      const { startDemo } = await import("../demo/demo.ts");
      const stop = stopRequested();
      const state = isTemporary ? mkdtempSync(join(tmpdir(), "switchyard-demo-")) : resolve(options.state);
      const demo = await startDemo({ ...options, state, isTemporary, traffic: demoTraffic });
      await stop;
      console.log("\nStopping …");
      await demo.close();
      console.log(
        isTemporary ? "Stopped, and removed all data." : "Stopped. The data is kept; `npm start` uses it again.",
      );
      exitSoon(0);
    });
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1024 || port > 65_530) {
    throw new InvalidArgumentError("It must be a number from 1024 to 65530.");
  }
  return port;
}

/** The order references of the payments begin with the seed. */
function parseSeed(text: string): string {
  if (/^[A-Za-z0-9-]{1,40}$/.test(text)) return text;
  throw new InvalidArgumentError("It must be 1 to 40 letters, digits and hyphens.");
}
