/** `npm run bench -- webhooks`: rows 7 to 9. */
import { writeFile } from "node:fs/promises";
import { Command, Option } from "commander";
import { natsVersion } from "./machine.ts";
import { createStepReporter, positive } from "./options.ts";
import type { WebhookBenchOptions, WebhookPart } from "./webhook-bench.ts";

type Options = {
  readonly rounds: number;
  readonly events: number;
  readonly warmUp: number;
  readonly samples: number;
  readonly seconds: number;
  readonly only?: WebhookPart;
  readonly json?: string;
  readonly profile?: string;
};

const webhookParts: readonly WebhookPart[] = ["throughput", "latency", "scaling"];

// Some thousand webhooks: before them V8 still compiles.
const warmUpSeconds = 10;

/** Returns the command, for `npm run bench`. */
export function webhookCommand(): Command {
  return new Command("webhooks")
    .description(
      "Measures webhooks from the commit of an outcome: their latency, their rate beside bare POSTs, both beside dead and " +
        "otherwise bad endpoints, and the rate of 1, 2 and 4 workers on 1 and 3 nats-servers. Takes about six minutes.",
    )
    .option("--rounds <count>", "rounds of each contestant", positive, 5)
    .option("--events <count>", "webhooks of a round", positive, 3_000)
    .option("--warm-up <seconds>", "how long each contestant warms up before the first round", positive, warmUpSeconds)
    .option("--samples <count>", "outcomes that are measured one at a time", positive, 300)
    .option("--seconds <seconds>", "how long outcomes are committed at half load", positive, 20)
    .addOption(new Option("--only <part>", "measure only this part").choices(webhookParts))
    .option("--json <file>", "also write every round to a file")
    .option("--profile <folder>", "also write CPU profiles of the workers, which lowers the figures")
    .addHelpText("after", "\nExample:\n  npm run bench -- webhooks --json webhooks.json")
    .action(play);
}

async function play({ warmUp, only, json, profile, ...given }: Options): Promise<void> {
  const { rounds, events, samples, seconds } = given;
  const options: WebhookBenchOptions = {
    rounds,
    events,
    samples,
    seconds,
    warmUpSeconds: warmUp,
    parts: only === undefined ? webhookParts : [only],
    ...(profile !== undefined && { profileFolder: profile }),
  };
  const { runWebhookBench } = await import("./webhook-bench.ts");
  const { reportWebhooks, writeWebhookReport } = await import("./webhook-report.ts");
  const onStep = createStepReporter();
  const report = reportWebhooks(options, await runWebhookBench(options, onStep), await natsVersion());
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  console.log(writeWebhookReport(report));
}
