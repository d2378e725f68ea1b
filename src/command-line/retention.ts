/** `switchyard retention`: how long one environment's database keeps what is over. */
import { type Command, InvalidArgumentError } from "commander";
import type { Retention } from "../migrations/retention.ts";
import { describedCommand } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";

type RetentionOptions = OutputOptions & Retention & { url: string };

/** Shows the periods, and changes those that are given. */
export function retentionCommand(): Command {
  return describedCommand("retention", {
    description:
      "show or set how long an environment's database keeps payments and the log of deliveries, as its owner",
    example:
      "switchyard retention --url postgres://owner@db/switchyard_live --payments-months 84 --delivery-log-days 90",
  })
    .requiredOption("--url <url>", "address of the database, as its owner")
    .option("--payments-months <number>", "sessions, attempts, events and deliveries; or: forever", parsePeriod)
    .option("--delivery-log-days <number>", "each try of a webhook with its answer; or: forever", parsePeriod)
    .action(async ({ url, json, ...wanted }: RetentionOptions) => {
      const { setRetention } = await import("../migrations/retention.ts");
      const now = await setRetention(url, wanted);
      const period = (count: number | null, unit: string) => (count === null ? "for ever" : `${count} ${unit}`);
      print(json === undefined ? {} : { json }, now, () => [
        `Payments, with their attempts, events and deliveries: ${period(now.paymentsMonths, "months")}.`,
        `The log of tries: ${period(now.deliveryLogDays, "days")}.`,
        "A month is dropped when all of it is past its time and nothing in it waits for anything.",
      ]);
    });
}

function parsePeriod(text: string): number | null {
  if (text === "forever") return null;
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError("Give a whole number from 1 to 9999, or: forever.");
  return Number(text);
}
