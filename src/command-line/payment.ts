/** `switchyard payment`: a merchant's payments, as the dashboard shows them. */
import { Command, Option } from "commander";
import type { DashboardClient, PaymentView } from "../client/dashboard-client.ts";
import { amountInWords } from "../platform/money.ts";
import { type Amount, type AmountOptions, amountFilterOf, parseAmount, parseAmountOrZero, partOf } from "./amounts.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf } from "./attachment.ts";
import { endAttemptCommand, withdrawEndCommand } from "./end-attempt.ts";
import { exportPages } from "./export-pages.ts";
import { amountOf, shown, table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";
import { parseTime } from "./times.ts";

type Filter = NonNullable<Parameters<DashboardClient["payments"]["listPayments"]>[0]["filter"]>;

export function paymentCommand(): Command {
  return new Command("payment")
    .addCommand(listCommand())
    .addCommand(searchCommand())
    .addCommand(getCommand())
    .addCommand(exportCommand())
    .addCommand(captureCommand())
    .addCommand(cancelCommand())
    .addCommand(endAttemptCommand())
    .addCommand(withdrawEndCommand());
}

type FilterOptions = AmountOptions & {
  readonly status?: "created" | "succeeded" | "declined" | "degraded" | "expired" | "processing" | "held" | "released";
  readonly gateway?: string;
  readonly order?: string;
  readonly orderPrefix?: string;
  readonly cardLast4?: string;
  readonly after?: string;
  readonly before?: string;
  readonly failover?: boolean;
  readonly disputed?: boolean;
};

const noMatch = "No payment matches the filters.";
const noneYet = "There are no payments yet.";
const statuses = ["created", "held", "processing", "succeeded", "released", "declined", "degraded", "expired"];

function addFilter(command: Command): Command {
  return command
    .addOption(new Option("--status <status>", "only payments with this status").choices(statuses))
    .option("--gateway <gateway>", "only payments with an attempt at this gateway, such as STRIPE")
    .option("--order <reference>", "only payments of this order")
    .option("--order-prefix <text>", "only payments whose order reference starts with this text")
    .option("--amount-from <amount>", "minimum amount and its currency, such as 49.00EUR", parseAmountOrZero)
    .option("--amount-to <amount>", "maximum amount and its currency", parseAmountOrZero)
    .option("--currency <code>", "only payments in this currency, such as EUR")
    .option("--card-last4 <digits>", "only payments whose card ends in these four digits")
    .option("--after <time>", "only payments created at or after this time, such as 2026-11-01T08:00:00Z", parseTime)
    .option("--before <time>", "only payments created before this time", parseTime)
    .option("--failover", "only payments that another gateway than the first captured")
    .option("--disputed", "only payments with a dispute, whatever became of it");
}

function filterOf(options: FilterOptions): Filter {
  const { status, order, orderPrefix, cardLast4, after, before, failover, disputed } = options;
  const isProcessing = status === "processing";
  const isHeld = status === "held";
  const isReleased = status === "released";
  return {
    ...(isProcessing && { processing: true }),
    ...(isHeld && { held: true }),
    ...(isReleased && { status: "DECLINED" as const, released: true }),
    ...(status === "declined" && { released: false }),
    ...(status && !isProcessing && !isHeld && !isReleased && { status: status.toUpperCase() as "SUCCEEDED" }),
    gateway: options.gateway ?? "",
    orderRef: order ?? orderPrefix ?? "",
    orderRefPrefix: order === undefined && orderPrefix !== undefined,
    ...amountFilterOf(options),
    cardLast4: cardLast4 ?? "",
    ...(after !== undefined && { createdAfter: after }),
    ...(before !== undefined && { createdBefore: before }),
    ...(failover && { failover }),
    ...(disputed && { disputed }),
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
  return addPaging(addFilter(command)).action(async (options: MerchantOptions & PagingOptions & FilterOptions) => {
    await administer(
      options,
      ({ payments }) => payments.listPayments({ ...scopeOf(options), filter: filterOf(options), ...pageOf(options) }),
      ({ payments = [], nextPageToken, searchedBackTo }) => [
        ...withNextPage(paymentTable(payments, isFiltered(options) ? noMatch : noneYet), nextPageToken),
        ...(searchedBackTo ? [`Searched payments back to ${searchedBackTo} so far.`] : []),
      ],
    );
  });
}

function searchCommand(): Command {
  return merchantCommand("search", {
    description:
      "find payments by an order reference or its beginning, any id, a gateway's reference, or the card's last four digits",
    example: "switchyard payment search order-1042",
  })
    .argument("<text>", "order reference or its beginning, id, gateway reference, or last four digits of the card")
    .action(async (text: string, options: MerchantOptions) => {
      await administer(
        options,
        ({ payments }) => payments.searchPayments({ ...scopeOf(options), text }),
        ({ matches = [] }) =>
          paymentTable(
            matches.map(({ payment = {} }) => payment),
            "No payment matches. Check the text, or search the other environment.",
          ),
      );
    });
}

function getCommand(): Command {
  return merchantCommand("get", {
    description: "show a payment with its timeline and the reason of each step",
    example: "switchyard payment get ps_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<session>", "id of the session")
    .action(async (sessionId: string, options: MerchantOptions) => {
      await administer(
        options,
        ({ payments }) => payments.getPayment({ ...scopeOf(options), sessionId }),
        ({ payment: { summary = {}, timeline = [] } = {} }) => [
          `${summary.sessionId}  ${shown(summary.orderRef)}  ${amountOf(summary.amount)}  ${stateOf(summary)}`,
          ...timeline.map(({ at, actor, step, why }) =>
            [`  ${at}  ${shown(actor)}: ${shown(step)}`, ...(why ? [`    ${shown(why)}`] : [])].join("\n"),
          ),
        ],
      );
    });
}

function exportCommand(): Command {
  const command = merchantCommand("export", {
    description: "export payments as CSV, newest first; a cell that a spreadsheet would run as a formula starts with '",
    example: "switchyard payment export --status succeeded --output payments.csv",
  });
  return addFilter(command)
    .requiredOption("--output <file>", "file to create; it must not exist yet")
    .action(async (options: MerchantOptions & FilterOptions & { output: string }) => {
      await administer(
        options,
        ({ payments }) =>
          exportPages(options.output, async (pageToken) => {
            const page = await payments.exportPayments({ ...scopeOf(options), filter: filterOf(options), pageToken });
            return { ...page, rows: page.payments };
          }),
        ({ rows }) => [`Exported ${rows} payments to ${options.output}.`],
      );
    });
}

function paymentTable(payments: readonly PaymentView[], whenEmpty: string): readonly string[] {
  return table(
    ["SESSION", "ORDER", "AMOUNT", "STATE", "GATEWAYS", "CREATED"],
    payments.map((payment) => [
      payment.sessionId ?? "",
      shown(payment.orderRef),
      amountOf(payment.amount),
      stateOf(payment),
      (payment.gateways ?? []).join(" > "),
      payment.createdAt ?? "",
    ]),
    whenEmpty,
  );
}

function stateOf({ status, processing, heldUntil, declineCode }: PaymentView): string {
  if (heldUntil) return `held until ${heldUntil}`;
  return processing ? "processing" : [status, declineCode].filter(Boolean).join(" ");
}

type OrderOptions = MerchantOptions & { readonly amount?: Amount; readonly reason: string };

export function captureCommand(): Command {
  return merchantCommand("capture", {
    description: "capture a held payment, whole or in part, at the gateway that holds it",
    example: "switchyard payment capture ps_01h455vb4pex5vsknk084sn02q --amount 9.00EUR --reason shipped",
  })
    .argument("<session>", "id of the session")
    .option("--amount <amount>", "amount and currency, such as 9.00EUR; without it, the whole amount", parseAmount)
    .requiredOption("--reason <text>", "the reason; written to the audit trail")
    .action(async (sessionId: string, options: OrderOptions) => {
      const { amount, reason } = options;
      await administer(
        options,
        async (dashboard) => {
          const part = await partOf(dashboard, options, { sessionId, amount });
          return dashboard.payments.capturePayment({ ...scopeOf(options), sessionId, reason, ...part });
        },
        ({ replayed, ...ordered }) => [
          `Capture of ${orderedAmount(ordered)} ordered.`,
          replayed ? "It had been ordered before; nothing is captured twice." : "A worker sends it within a second.",
        ],
      );
    });
}

export function cancelCommand(): Command {
  return merchantCommand("cancel", {
    description: "cancel a held payment: nothing is captured, and its hold is voided",
    example: 'switchyard payment cancel ps_01h455vb4pex5vsknk084sn02q --reason "out of stock"',
  })
    .argument("<session>", "id of the session")
    .requiredOption("--reason <text>", "the reason; written to the audit trail")
    .action(async (sessionId: string, options: OrderOptions) => {
      const { reason } = options;
      await administer(
        options,
        ({ payments }) => payments.cancelPayment({ ...scopeOf(options), sessionId, reason }),
        ({ replayed, ...cancelled }) => [
          `Payment of ${orderedAmount(cancelled)} cancelled.`,
          replayed ? "It had been cancelled before." : "A worker voids the hold within a second.",
        ],
      );
    });
}

function orderedAmount({ amountMinor = "0", currency = "EUR", gateway = "" }: Ordered): string {
  return `${amountInWords(Number(amountMinor), currency)} at ${gateway}`;
}

type Ordered = { readonly amountMinor?: string; readonly currency?: string; readonly gateway?: string };
