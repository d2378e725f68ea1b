/** `switchyard refund list`, `show` and `export`: a merchant's refunds, as the dashboard shows them. */
import { type Command, Option } from "commander";
import type { DashboardClient, RefundView } from "../client/dashboard-client.ts";
import { nameGatewaysIn, nameOfGateway } from "../dashboard/ui/parts/gateway-name.ts";
import { type AmountOptions, amountFilterOf, parseAmountOrZero } from "./amounts.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf } from "./attachment.ts";
import { exportPages } from "./export-pages.ts";
import { amountOf, shown, table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";
import { parseTime } from "./times.ts";

type Filter = NonNullable<Parameters<DashboardClient["refunds"]["listRefunds"]>[0]["filter"]>;

type FilterOptions = AmountOptions & {
  readonly status?: "pending" | "succeeded" | "failed";
  readonly gateway?: string;
  readonly after?: string;
  readonly before?: string;
  readonly reference?: string;
};

function addFilter(command: Command): Command {
  return command
    .addOption(
      new Option("--status <status>", "only refunds with this status").choices(["pending", "succeeded", "failed"]),
    )
    .option("--gateway <gateway>", "only refunds at this gateway, such as STRIPE")
    .option("--amount-from <amount>", "minimum amount and its currency, such as 49.00EUR", parseAmountOrZero)
    .option("--amount-to <amount>", "maximum amount and its currency", parseAmountOrZero)
    .option("--currency <code>", "only refunds in this currency, such as EUR")
    .option("--after <time>", "only refunds requested at or after this time, such as 2026-11-01T08:00:00Z", parseTime)
    .option("--before <time>", "only refunds requested before this time", parseTime)
    .option("--reference <text>", "whole id, reference of the refund or order reference");
}

function filterOf({ status, gateway = "", reference = "", ...options }: FilterOptions): Filter {
  const { after, before } = options;
  return {
    ...(status && { status: status.toUpperCase() as "PENDING" }),
    gateway,
    reference,
    ...amountFilterOf(options),
    ...(after !== undefined && { createdAfter: after }),
    ...(before !== undefined && { createdBefore: before }),
  };
}

export function listRefundsCommand(): Command {
  const command = merchantCommand("list", {
    description: "list refunds, newest first",
    example: "switchyard refund list --status failed --after 2026-11-01T00:00:00Z",
  });
  return addPaging(addFilter(command)).action(async (options: MerchantOptions & PagingOptions & FilterOptions) => {
    const filter = filterOf(options);
    const isFiltered = Object.values(filter).some((value) => value !== "");
    await administer(
      options,
      ({ refunds }) => refunds.listRefunds({ ...scopeOf(options), filter, ...pageOf(options) }),
      ({ refunds = [], nextPageToken, searchedBackTo }) => [
        ...withNextPage(
          refundTable(refunds, isFiltered ? "No refund matches the filters." : "There are no refunds yet."),
          nextPageToken,
        ),
        ...(searchedBackTo ? [`Searched refunds back to ${searchedBackTo} so far.`] : []),
      ],
    );
  });
}

export function showRefundCommand(): Command {
  return merchantCommand("show", {
    description: "show a refund, and what is not known about it yet",
    example: "switchyard refund show ref_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<refund>", "id of the refund")
    .action(async (refundId: string, options: MerchantOptions) => {
      await administer(
        options,
        ({ refunds }) => refunds.getRefund({ ...scopeOf(options), refundId }),
        ({ refund = {} }) => linesOf(refund),
      );
    });
}

function linesOf(refund: RefundView): readonly string[] {
  const { amount, gateway = "", failureCode, gatewayReference, reason, refundRef, doubt, decidedBy } = refund;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["Payment", `${refund.sessionId}, order ${shown(refund.orderRef)}`],
    ["Requested", `${refund.createdAt} by ${maker(refund)}`],
    ["Ended", refund.completedAt],
    ["Failure code", failureCode],
    ["Gateway's reference", gatewayReference && shown(gatewayReference)],
    ["Reason", reason?.replaceAll("_", " ")],
    ["Own reference", refundRef && shown(refundRef)],
    ["End recorded by", decidedBy && `${shown(decidedBy)}: ${shown(refund.decisionReason)}`],
    ["Not known yet", doubt && nameGatewaysIn(shown(doubt))],
  ];
  const title = `${refund.refundId}  ${amountOf(amount)}  ${refund.status} at ${nameOfGateway(gateway)}`;
  return [title, ...facts.flatMap(([name, value]) => (value ? [`  ${name}: ${value}`] : []))];
}

function maker({ madeBy, madeAtGateway }: RefundView): string {
  if (madeAtGateway) return "a person at the gateway";
  return madeBy ? shown(madeBy) : "the API";
}

export function exportRefundsCommand(): Command {
  const command = merchantCommand("export", {
    description: "export refunds as CSV, newest first, with the gateways' references",
    example: "switchyard refund export --after 2026-11-01T00:00:00Z --output refunds.csv",
  });
  return addFilter(command)
    .requiredOption("--output <file>", "file to create; it must not exist yet")
    .action(async (options: MerchantOptions & FilterOptions & { output: string }) => {
      await administer(
        options,
        ({ refunds }) =>
          exportPages(options.output, async (pageToken) => {
            const page = await refunds.exportRefunds({ ...scopeOf(options), filter: filterOf(options), pageToken });
            return { ...page, rows: page.refunds };
          }),
        ({ rows }) => [`Exported ${rows} refunds to ${options.output}.`],
      );
    });
}

function refundTable(refunds: readonly RefundView[], whenEmpty: string): readonly string[] {
  return table(
    ["REFUND", "ORDER", "AMOUNT", "STATE", "GATEWAY", "REFERENCE", "REQUESTED"],
    refunds.map((refund) => [
      refund.refundId ?? "",
      shown(refund.orderRef),
      amountOf(refund.amount),
      [refund.status, refund.failureCode].filter(Boolean).join(" "),
      refund.gateway ?? "",
      shown(refund.gatewayReference),
      refund.createdAt ?? "",
    ]),
    whenEmpty,
  );
}
