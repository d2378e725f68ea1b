/** Lines of the gateways' statements: each names the payment that it pays, or the reason that it has none. */
import { createClient } from "@connectrpc/connect";
import { useInfiniteQuery, useTransport } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type PayoutLine, SettlementService } from "../../../../gen/dashboard/v1/settlement_pb.ts";
import { PayoutLine_Status as Status } from "../../../../gen/payments/v1/settlement_pb.ts";
import { Amount, formatAmount } from "../parts/amount.tsx";
import { Gateway } from "../parts/brand.tsx";
import { visible } from "../parts/copied-text.tsx";
import { CsvExport } from "../parts/csv-export.tsx";
import { OrderRef } from "../parts/order-ref.tsx";
import { PagedRows, pages } from "../parts/paged-rows.tsx";
import { type RecordColumn, RecordTable } from "../parts/record-table.tsx";
import { Badge, isUnmatched, lineWords, nameOfKind } from "../parts/settlement-words.tsx";
import { Moment } from "../parts/time.tsx";
import { ScopeLink, useScope } from "../scope.ts";

const rowsAtOnce = 50;

/** The list, with its export. Without a payout, the lines are named by their gateway and their day too. */
export function PayoutLines(props: {
  filter: { readonly payoutId?: string; readonly status?: Status; readonly reason?: string };
  /** The heading or filters in one row with the button of the export. */
  beside: ReactNode;
  file: string;
  empty: ReactNode;
}) {
  const { filter, beside, file, empty } = props;
  const { merchantId, environment } = useScope();
  const client = createClient(SettlementService, useTransport());
  const query = useInfiniteQuery(
    SettlementService.method.listPayoutLines,
    { merchantId, environment, filter, pageSize: rowsAtOnce, pageToken: "" },
    { ...pages, placeholderData: keepPreviousData },
  );
  return (
    <>
      <div className="page-head">
        {beside}
        {query.data?.pages.some((page) => page.lines.length > 0) && (
          <CsvExport
            file={file}
            what="lines"
            loadPage={async (pageToken, options) => {
              const page = await client.exportPayoutLines({ merchantId, environment, filter, pageToken }, options);
              return { ...page, rows: page.lines };
            }}
          />
        )}
      </div>
      <PagedRows label="Lines" query={query} rowsOf={(page) => page.lines} empty={empty}>
        {(lines) => <LinesTable lines={lines} isOfPayout={filter.payoutId !== undefined} />}
      </PagedRows>
    </>
  );
}

function LinesTable({ lines, isOfPayout }: { lines: readonly PayoutLine[]; isOfPayout: boolean }) {
  const columns: readonly RecordColumn[] = [
    { name: "Line" },
    ...(isOfPayout ? [] : [{ name: "Gateway" }]),
    { name: "Gross", isNumber: true },
    { name: "Fee", isNumber: true },
    { name: "Net", isNumber: true },
    { name: "Payment" },
    ...(isOfPayout ? [] : [{ name: "Read" }]),
  ];
  const rows = lines.map((line, index) => ({
    key: `${line.gatewayReference} ${index}`,
    cells: [
      <>
        {nameOfKind(line.kind)}
        <span className="soft small line-reference">
          <bdi>{visible(line.gatewayReference || line.gatewayType)}</bdi>
        </span>
      </>,
      ...(isOfPayout ? [] : [<Gateway key="gateway" gateway={line.gateway} />]),
      <Gross key="gross" line={line} />,
      line.fee ? <Amount key="fee" amount={line.fee} /> : "–",
      line.net ? <Amount key="net" amount={line.net} /> : "–",
      <OfPayment key="payment" line={line} />,
      ...(isOfPayout ? [] : [<Moment key="read" at={line.recordedAt} />]),
    ],
  }));
  return <RecordTable label="Lines" columns={columns} rows={rows} className="records statements" />;
}

/** The amount in the payout's currency, and below it the one of the payment if that is another. */
function Gross({ line: { gross, settledGross } }: { line: PayoutLine }) {
  if (settledGross === undefined) return "–";
  const isConverted = gross !== undefined && gross.currency !== settledGross.currency;
  return (
    <>
      <Amount amount={settledGross} />
      {isConverted && <div className="soft small">{formatAmount(gross)}</div>}
    </>
  );
}

function OfPayment({ line }: { line: PayoutLine }) {
  const { sessionId, orderRef, status, reason, gatewayType } = line;
  const payment = sessionId && (
    <ScopeLink to="./payments/$sessionId" params={{ sessionId }}>
      {orderRef ? <OrderRef orderRef={orderRef} /> : "See the payment"}
    </ScopeLink>
  );
  if (status === Status.ACCOUNT) return <span className="soft">Account line: {visible(gatewayType)}</span>;
  if (!isUnmatched(status)) return payment || "–";
  const words = lineWords(reason);
  return (
    <div className="line-reason">
      <p>
        <Badge words={words} /> {payment}
      </p>
      <p className="small soft">{words.next}</p>
    </div>
  );
}
