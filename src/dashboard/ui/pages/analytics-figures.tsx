/** The totals of the range: its figures, its gateways and the reasons of its declines, each explained. */
import type {
  AnalyticsPoint,
  AttemptCounts,
  GetAnalyticsResponse,
  PaymentCounts,
} from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { changeOf, changeOfRate } from "../parts/comparison.ts";
import { type CountsColumn, CountsTable, countColumn, csvRows, msColumn, rateColumn } from "../parts/counts-table.tsx";
import { Fold } from "../parts/fold.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { formatCount, formatMinor, formatMs, formatRate, formatWholePercent } from "../parts/numbers.ts";
import { approvedOf, endedOf } from "../parts/outcomes.ts";
import { RecordTable } from "../parts/record-table.tsx";
import { Share } from "../parts/share.tsx";

/** The main figures; those of payments beside the period before, if there is one. */
export function Figures({ total, before }: { total: AnalyticsPoint; before: PaymentCounts | undefined }) {
  const { payments, attempts } = total;
  if (payments === undefined || attempts === undefined) return null;
  const saved = payments.volumes.filter(({ savedMinor }) => savedMinor > 0n);
  return (
    <dl className="tiles">
      <div>
        <dt>Approval rate</dt>
        <dd className="value">{formatRate(payments.approvalRate)}</dd>
        <dd className="soft small">
          {formatCount(approvedOf(payments))} of {formatCount(endedOf(payments))} payments
          {payments.released > 0n && `, ${formatCount(payments.released)} released`}
          <Change>{changeOfRate(payments.approvalRate, before?.approvalRate)}</Change>
        </dd>
      </div>
      <div>
        <dt>Saved by failover</dt>
        <dd className="value saved">{formatCount(payments.savedByFailover)}</dd>
        <dd className="soft small">
          {saved.map((each) => formatMinor(each.savedMinor, each)).join(" · ") || "payments"}
          <Change>{before && changeOf(payments.savedByFailover, before.savedByFailover)}</Change>
        </dd>
      </div>
      <div>
        <dt>Approval rate of attempts</dt>
        <dd className="value">{formatRate(attempts.approvalRate)}</dd>
        <dd className="soft small">
          {formatCount(attempts.approved)} of {formatCount(attempts.attempts)} attempts
        </dd>
      </div>
      <div>
        <dt>Technical failures</dt>
        <dd className="value">{formatRate(attempts.technicalFailureRate)}</dd>
        <dd className="soft small">
          {formatCount(attempts.timeouts)} {attempts.timeouts === 1n ? "timeout" : "timeouts"} ·{" "}
          {formatCount(attempts.gatewayErrors)} {attempts.gatewayErrors === 1n ? "error" : "errors"}
        </dd>
      </div>
      <div>
        <dt>Median time to outcome</dt>
        <dd className="value">{formatMs(payments.p50Ms)}</dd>
        <dd className="soft small">95th percentile {formatMs(payments.p95Ms)}</dd>
      </div>
    </dl>
  );
}

function Change({ children }: { children: string | undefined }) {
  return children === undefined ? null : <span className="change">{children}</span>;
}

const gatewayColumns: readonly CountsColumn<AttemptCounts>[] = [
  countColumn("Attempts", (row) => row.attempts),
  rateColumn("Approval rate", (row) => row.approvalRate),
  countColumn("Declined", (row) => row.hardDeclined + row.softDeclined),
  countColumn("Declined as fraud", (row) => row.fraudDeclined),
  countColumn("Timeouts", (row) => row.timeouts),
  countColumn("Errors", (row) => row.gatewayErrors),
  countColumn("Unknown outcome", (row) => row.unknown),
  msColumn("Median response time", (row) => row.p50Ms),
  msColumn("95th percentile", (row) => row.p95Ms),
];

export function GatewayTable({ total }: { total: AnalyticsPoint }) {
  const table = { first: "Gateway", rows: total.gateways, columns: gatewayColumns };
  return (
    <Fold id="gateways" title="Gateways" rows={() => csvRows(table)} isOpen>
      <CountsTable label="Gateways" {...table} />
    </Fold>
  );
}

/** Decline reasons of attempts, the most frequent first; a bar beside each number draws its share. */
export function DeclineTable({ declines }: Pick<GetAnalyticsResponse, "declines">) {
  const sum = declines.reduce((all, { attempts }) => all + attempts, 0n);
  const rows = declines.map(
    ({ declineCode, gateway, attempts }) => [declineCode, nameOfGateway(gateway), Number(attempts)] as const,
  );
  return (
    <Fold
      id="decline-reasons"
      title="Decline reasons"
      about={`${formatCount(sum)} declined attempts, by decline code and gateway`}
      rows={() => [["Decline code", "Gateway", "Attempts"], ...rows]}
    >
      {declines.length === 0 ? (
        <p>No attempt was declined.</p>
      ) : (
        <RecordTable
          label="Decline reasons"
          className="counts"
          columns={[
            { name: "Decline code" },
            { name: "Gateway", className: "text" },
            { name: "Attempts" },
            { name: "Share" },
          ]}
          rows={rows.map(([code, gateway, attempts]) => ({
            key: `${code} ${gateway}`,
            cells: [
              <code key="code">{code}</code>,
              gateway,
              formatCount(attempts),
              <Share key="share" part={attempts} of={Number(sum)} />,
            ],
          }))}
        />
      )}
    </Fold>
  );
}

export function Meanings() {
  return (
    <Fold id="meanings" title="Definitions">
      <dl className="meanings">
        <dt>Payment</dt>
        <dd>
          A payment session that a customer submitted and that has a final outcome. It counts once, at the time of that
          outcome; a held payment when it is captured, cancelled or its hold expires. Sessions that expire without a
          card are not counted in any rate.
        </dd>
        <dt>Attempt</dt>
        <dd>One request of such a payment to one gateway. A payment that fails over has several.</dd>
        <dt>Approval rate</dt>
        <dd>
          Payments that a gateway approved, of all that ended: those that succeeded and those that were released. Of
          attempts: those in which the gateway authorized the amount, of all attempts.
        </dd>
        <dt>Released</dt>
        <dd>
          Payments that were approved and held, and not captured: you cancelled them, or their hold expired. They count
          as approved, and no money of them as captured.
        </dd>
        <dt>Declined, failed</dt>
        <dd>
          Declined: the last gateway declined. Failed: it gave no usable answer or refused the capture, or no gateway
          could be used.
        </dd>
        <dt>Saved by failover</dt>
        <dd>Payments that succeeded at another gateway than the first one.</dd>
        <dt>Issuing country</dt>
        <dd>
          The country whose bank issued the card. It is known of cards in the ranges of your routing cases, and in test
          of the numbers that gateways publish: these are cards of the United States.
        </dd>
        <dt>Technical failure</dt>
        <dd>
          An attempt that ended in a timeout or a gateway error. Unknown outcome: the gateway might have held the
          amount; such a hold is voided.
        </dd>
        <dt>Authentication</dt>
        <dd>
          One run of 3-D Secure, at a gateway or at a provider. Frictionless: the bank did not ask the customer.
          Exempted: the bank accepted that it does not ask. The time at the bank lasts from the bank’s page to the
          answer.
        </dd>
        <dt>Issuer liable</dt>
        <dd>
          The card’s issuer bears a fraudulent payment, as the gateway or the network’s commerce indicator (ECI) says.
        </dd>
        <dt>Median time to outcome</dt>
        <dd>
          From the submission to the outcome, without the time that the customer took to authenticate; of a held payment
          to its hold. Times are counted in steps, so medians and percentiles are accurate to ±
          {formatWholePercent(0.09)}.
        </dd>
      </dl>
    </Fold>
  );
}
