/** `switchyard retention`: how long one environment's database keeps what is over. */
import { type Command, InvalidArgumentError } from "commander";
import { describedCommand } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";
import { addOwnerUrl, type OwnerUrlOptions, ownerUrlOf } from "./owner-url.ts";

type Period = number | "forever";
type RetentionOptions = OutputOptions &
  OwnerUrlOptions & { readonly paymentsMonths?: Period; readonly deliveryLogDays?: Period };

/** Shows the periods, and changes those that are given. */
export function retentionCommand(): Command {
  const command = describedCommand("retention", {
    description:
      "show or set how long an environment's database keeps payments and the log of deliveries, as its owner",
    example:
      "switchyard retention --url postgres://owner@db/switchyard_live --payments-months 84 --delivery-log-days 90",
  });
  return addOwnerUrl(command)
    .option("--payments-months <number>", "sessions, attempts, events and deliveries; or: forever", parsePeriod)
    .option("--delivery-log-days <number>", "each try of a webhook with its answer; or: forever", parsePeriod)
    .action(async (options: RetentionOptions) => {
      const { setRetention } = await import("../migrations/retention.ts");
      const now = await setRetention(ownerUrlOf(options), {
        paymentsMonths: wanted(options.paymentsMonths),
        deliveryLogDays: wanted(options.deliveryLogDays),
      });
      const period = (count: number | null, unit: string) => (count === null ? "for ever" : `${count} ${unit}`);
      print(options, now, () => [
        `Payments, with their attempts, events and deliveries: ${period(now.paymentsMonths, "months")}.`,
        `The log of tries: ${period(now.deliveryLogDays, "days")}.`,
        "A month is dropped when all of it is past its time and nothing in it waits for anything.",
      ]);
    });
}

// As Retention has it: null is for ever, and what is not said is left as it is.
const wanted = (period: Period | undefined) => (period === "forever" ? null : period);

function parsePeriod(text: string): Period {
  if (text === "forever") return text;
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError("Give a whole number from 1 to 9999, or: forever.");
  return Number(text);
}
