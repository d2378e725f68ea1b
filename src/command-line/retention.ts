/** `switchyard retention`: the periods for which one environment's database keeps finished records. */
import { type Command, InvalidArgumentError } from "commander";
import { describedCommand } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";
import { addOwnerUrl, type OwnerUrlOptions, ownerUrlOf } from "./owner-url.ts";

type Period = number | "forever";
type RetentionOptions = OutputOptions &
  OwnerUrlOptions & { readonly paymentsMonths?: Period; readonly deliveryLogDays?: Period };

export function retentionCommand(): Command {
  const command = describedCommand("retention", {
    example:
      "switchyard retention --url postgres://owner@db/switchyard_live --payments-months 84 --delivery-log-days 90",
  });
  return addOwnerUrl(command)
    .option(
      "--payments-months <number>",
      "months to keep sessions, attempts, events and deliveries, or `forever`",
      parsePeriod,
    )
    .option(
      "--delivery-log-days <number>",
      "days to keep delivery attempts with their responses, or `forever`",
      parsePeriod,
    )
    .action(async (options: RetentionOptions) => {
      const { setRetention } = await import("../migrations/retention.ts");
      const periods = await setRetention(ownerUrlOf(options), {
        paymentsMonths: wanted(options.paymentsMonths),
        deliveryLogDays: wanted(options.deliveryLogDays),
      });
      const period = (count: number | null, unit: string) => (count === null ? "forever" : `${count} ${unit}`);
      print(options, periods, () => [
        `Payments, with their attempts, events and deliveries: ${period(periods.paymentsMonths, "months")}.`,
        `The log of delivery attempts: ${period(periods.deliveryLogDays, "days")}.`,
        "A month is dropped when all of it is older than its period and none of its records is pending.",
      ]);
    });
}

// Converts to Retention's values: null keeps forever, and an omitted period stays unchanged.
const wanted = (period: Period | undefined) => (period === "forever" ? null : period);

function parsePeriod(text: string): Period {
  if (text === "forever") return text;
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw new InvalidArgumentError("It must be a whole number from 1 to 9999, or `forever`.");
  return Number(text);
}
