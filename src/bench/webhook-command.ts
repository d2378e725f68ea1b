/** `npm run bench -- webhooks`: benches 7 to 9. */
import { writeFile } from "node:fs/promises";
import { Command, Option } from "commander";
import { natsVersion } from "./machine.ts";
import { positive, stepTeller } from "./options.ts";
import { runWebhookBench, type WebhookBenchOptions, type WebhookPart, webhookParts } from "./webhook-bench.ts";
import { reportWebhooks, writeWebhookReport } from "./webhook-report.ts";

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

// Some thousand webhooks: before them V8 still compiles.
const warmUpSeconds = 10;

/** The command, for `npm run bench`. */
export function webhookCommand(): Command {
  return new Command("webhooks")
    .description(
      "From the commit of an outcome to its webhook: how soon, how many a second beside bare POSTs, beside dead and " +
        "otherwise bad endpoints, and with 1, 2 and 4 workers on 1 and 3 nats-servers. Takes about six minutes.",
    )
    .option("--rounds <count>", "rounds of each contestant", positive, 5)
    .option("--events <count>", "webhooks of a round", positive, 3_000)
    .option("--warm-up <seconds>", "of each contestant before the first round", positive, warmUpSeconds)
    .option("--samples <count>", "outcomes one at a time", positive, 300)
    .option("--seconds <seconds>", "how long outcomes come at half load", positive, 20)
    .addOption(new Option("--only <part>", "one part of it").choices(webhookParts))
    .option("--json <file>", "also write every round to a file")
    .option("--profile <folder>", "write CPU profiles of the workers; their figures are then too low")
    .addHelpText("after", "\nExample:\n  npm run bench -- webhooks --json webhooks.json")
    .action(play);
}

async function play({ warmUp, only, json, profile, ...given }: Options): Promise<void> {
  const { rounds, events, samples, seconds } = given;
  const options: WebhookBenchOptions = {
    ...{ rounds, events, samples, seconds, warmUpSeconds: warmUp },
    parts: only === undefined ? webhookParts : [only],
    ...(profile !== undefined && { profileFolder: profile }),
  };
  const onStep = stepTeller();
  const report = reportWebhooks(options, await runWebhookBench(options, onStep), await natsVersion());
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  console.log(writeWebhookReport(report));
}
