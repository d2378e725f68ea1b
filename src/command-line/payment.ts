/** `switchyard payment`: a merchant's payments, as the dashboard shows them. */
import { existsSync, writeFileSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import type { DashboardClient, PaymentView } from "../client/dashboard-client.ts";
import {
  type AttachOptions,
  administer,
  merchantCommand,
  type ScopeOptions,
  scopeOf,
  UsageError,
} from "./attachment.ts";
import { table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";
import { parseTime } from "./times.ts";

type PaymentOptions = AttachOptions & ScopeOptions;
type Filter = NonNullable<Parameters<DashboardClient["payments"]["listPayments"]>[0]["filter"]>;

/** Lists, finds, shows and exports payments. */
export function paymentCommand(): Command {
  return new Command("payment")
    .description("a merchant's payments: lists, searches, one with all that happened, CSV")
    .addCommand(listCommand())
    .addCommand(searchCommand())
    .addCommand(getCommand())
    .addCommand(exportCommand());
}

type FilterOptions = {
  readonly status?: "created" | "succeeded" | "declined" | "degraded" | "expired" | "processing";
  readonly gateway?: string;
  readonly order?: string;
  readonly orderPrefix?: string;
  readonly from?: string;
  readonly to?: string;
  readonly currency?: string;
  readonly after?: string;
  readonly before?: string;
  readonly failover?: boolean;
};

const noMatch = "No payment matches the filters.";
const noneYet = "There are no payments yet.";
const statuses = ["created", "processing", "succeeded", "declined", "degraded", "expired"];

function addFilter(command: Command): Command {
  return command
    .addOption(new Option("--status <status>", "in this state only").choices(statuses))
    .option("--gateway <gateway>", "that this gateway was asked for, such as STRIPE")
    .option("--order <reference>", "of this order")
    .option("--order-prefix <text>", "of orders whose reference begins so")
    .option("--from <minor>", "of this amount at least, in minor units", parseMinor)
    .option("--to <minor>", "of this amount at most, in minor units", parseMinor)
    .option("--currency <code>", "in this currency, such as EUR")
    .option("--after <time>", "created then or later, such as 2026-11-01T08:00:00Z", parseTime)
    .option("--before <time>", "created before then", parseTime)
    .option("--failover", "that another gateway than the first took");
}

function filterOf(options: FilterOptions): Filter {
  const { status, order, orderPrefix, from, to, currency, after, before, failover } = options;
  const isProcessing = status === "processing";
  return {
    ...(isProcessing && { processing: true }),
    ...(status && !isProcessing && { status: status.toUpperCase() as "SUCCEEDED" }),
    gateway: options.gateway ?? "",
    orderRef: order ?? orderPrefix ?? "",
    orderRefPrefix: order === undefined && orderPrefix !== undefined,
    ...(from !== undefined && { amountFrom: from }),
    ...(to !== undefined && { amountTo: to }),
    currency: currency ?? "",
    ...(after !== undefined && { createdAfter: after }),
    ...(before !== undefined && { createdBefore: before }),
    ...(failover && { failover }),
  };
}

function isFiltered(options: FilterOptions): boolean {
  return Object.values(filterOf(options)).some((value) => value !== "" && value !== false);
}

function listCommand(): Command {
  const command = merchantCommand("list", {
    description: "list payments, newest first",
    example: "switchyard payment list --status declined --after 2026-11-01T00:00:00Z",
  });
  return addPaging(addFilter(command)).action(async (options: PaymentOptions & PagingOptions & FilterOptions) => {
    await administer(
      options,
      ({ payments }) => payments.listPayments({ ...scopeOf(options), filter: filterOf(options), ...pageOf(options) }),
      ({ payments = [], nextPageToken, searchedBackTo }) => [
        ...withNextPage(paymentTable(payments, isFiltered(options) ? noMatch : noneYet), nextPageToken),
        ...(searchedBackTo ? [`So far the payments back to ${searchedBackTo} were looked at.`] : []),
      ],
    );
  });
}

function searchCommand(): Command {
  return merchantCommand("search", {
    description: "find payments by an order reference or its beginning, any id, or a gateway's reference",
    example: "switchyard payment search order-1042",
  })
    .argument("<text>", "what you have in hand")
    .action(async (text: string, options: PaymentOptions) => {
      await administer(
        options,
        ({ payments }) => payments.searchPayments({ ...scopeOf(options), text }),
        ({ matches = [] }) =>
          paymentTable(
            matches.map(({ payment = {} }) => payment),
            "Nothing is called that.",
          ),
      );
    });
}

function getCommand(): Command {
  return merchantCommand("get", {
    description: "show a payment with everything that happened to it, and why",
    example: "switchyard payment get ps_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<session>", "the session's id")
    .action(async (sessionId: string, options: PaymentOptions) => {
      await administer(
        options,
        ({ payments }) => payments.getPayment({ ...scopeOf(options), sessionId }),
        ({ payment: { summary = {}, timeline = [] } = {} }) => [
          `${summary.sessionId}  ${shown(summary.orderRef)}  ${amountOf(summary)}  ${stateOf(summary)}`,
          ...timeline.map(({ at, actor, step, why }) =>
            [`  ${at}  ${shown(actor)}: ${shown(step)}`, ...(why ? [`    ${shown(why)}`] : [])].join("\n"),
          ),
        ],
      );
    });
}

function exportCommand(): Command {
  const command = merchantCommand("export", {
    description: "write payments as CSV, newest first; cells that a spreadsheet would run begin with '",
    example: "switchyard payment export --status succeeded --output payments.csv",
  });
  return addFilter(command)
    .requiredOption("--output <file>", "where to; it must not exist yet")
    .action(async (options: PaymentOptions & FilterOptions & { output: string }) => {
      await administer(
        options,
        ({ payments }) => exportAll(payments, { ...scopeOf(options), filter: filterOf(options) }, options.output),
        ({ payments }) => [`${payments} payments are in ${options.output}.`],
      );
    });
}

/** Page by page, and says on the way how far it is. */
async function exportAll(
  payments: DashboardClient["payments"],
  request: ReturnType<typeof scopeOf> & { filter: Filter },
  file: string,
): Promise<{ payments: number }> {
  if (existsSync(file)) throw new UsageError(`${file} exists already: name another file.`);
  let count = 0;
  for (let pageToken = ""; ; ) {
    const page = await payments.exportPayments({ ...request, pageToken });
    writeFileSync(file, page.csv ?? "", { flag: pageToken === "" ? "wx" : "a" });
    count += page.payments ?? 0;
    pageToken = page.nextPageToken ?? "";
    if (pageToken === "") return { payments: count };
    console.error(`${count} so far …`);
  }
}

function paymentTable(payments: readonly PaymentView[], whenEmpty: string): readonly string[] {
  return table(
    ["SESSION", "ORDER", "AMOUNT", "STATE", "GATEWAYS", "CREATED"],
    payments.map((payment) => [
      payment.sessionId ?? "",
      shown(payment.orderRef),
      amountOf(payment),
      stateOf(payment),
      (payment.gateways ?? []).join(" > "),
      payment.createdAt ?? "",
    ]),
    whenEmpty,
  );
}

function stateOf({ status, processing, declineCode }: PaymentView): string {
  return processing ? "processing" : [status, declineCode].filter(Boolean).join(" ");
}

function amountOf({ amount: { amountMinor = "", currency = "", exponent = 0 } = {} }: PaymentView): string {
  const digits = amountMinor.padStart(exponent + 1, "0");
  const cut = digits.length - exponent;
  return `${digits.slice(0, cut)}${exponent > 0 ? `.${digits.slice(cut)}` : ""} ${currency}`;
}

/** Text of others without what a terminal would obey. */
function shown(text = ""): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (unseen) => `\\u{${unseen.codePointAt(0)?.toString(16)}}`);
}

function parseMinor(text: string): string {
  if (/^\d{1,12}$/.test(text)) return text;
  throw new InvalidArgumentError("It must be a whole number of minor units, such as 4900.");
}
