/** The totals of the range: its figures, its gateways and the reasons of its declines, each explained. */
import type { AnalyticsPoint, AttemptCounts, GetAnalyticsResponse } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { Button } from "../parts/button.tsx";
import { type CountsColumn, CountsTable } from "../parts/counts-table.tsx";
import { csvOf, saveFile } from "../parts/csv.ts";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { formatCount, formatMinor, formatMs, formatRate } from "../parts/numbers.ts";
import { Share } from "../parts/share.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";

/** The main figures. */
export function Figures({ total: { payments, attempts } }: { total: AnalyticsPoint }) {
  if (payments === undefined || attempts === undefined) return null;
  const ended = payments.succeeded + payments.declined + payments.degraded;
  const saved = payments.volumes.filter(({ savedMinor }) => savedMinor > 0n);
  return (
    <dl className="tiles">
      <div>
        <dt>Payments approved</dt>
        <dd className="value">{formatRate(payments.approvalRate)}</dd>
        <dd className="soft small">
          {formatCount(payments.succeeded)} of {formatCount(ended)}
        </dd>
      </div>
      <div>
        <dt>Saved by failover</dt>
        <dd className="value saved">{formatCount(payments.savedByFailover)}</dd>
        <dd className="soft small">
          {saved.map((each) => formatMinor(each.savedMinor, each)).join(" · ") || "payments"}
        </dd>
      </div>
      <div>
        <dt>Attempts approved</dt>
        <dd className="value">{formatRate(attempts.approvalRate)}</dd>
        <dd className="soft small">
          {formatCount(attempts.approved)} of {formatCount(attempts.attempts)}
        </dd>
      </div>
      <div>
        <dt>Technical failures</dt>
        <dd className="value">{formatRate(attempts.technicalFailureRate)}</dd>
        <dd className="soft small">
          {formatCount(attempts.timeouts)} timeouts · {formatCount(attempts.gatewayErrors)} errors
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

const gatewayColumns: readonly CountsColumn<AttemptCounts>[] = [
  ["Attempts", (row) => formatCount(row.attempts)],
  ["Approved", (row) => formatRate(row.approvalRate)],
  ["Declined", (row) => formatCount(row.hardDeclined + row.softDeclined)],
  ["Fraud", (row) => formatCount(row.fraudDeclined)],
  ["Timeouts", (row) => formatCount(row.timeouts)],
  ["Errors", (row) => formatCount(row.gatewayErrors)],
  ["Unknown outcome", (row) => formatCount(row.unknown)],
  ["Median", (row) => formatMs(row.p50Ms)],
  ["95th percentile", (row) => formatMs(row.p95Ms)],
];

/** Attempts by gateway, as a table. */
export function GatewayTable({ total }: { total: AnalyticsPoint }) {
  return (
    <section className="card" aria-labelledby="by-gateway">
      <h2 id="by-gateway">Gateways</h2>
      <CountsTable label="Gateways" first="Gateway" rows={total.gateways} columns={gatewayColumns} />
    </section>
  );
}

/** Decline reasons of attempts, the most frequent first; a bar beside each number draws its share. */
export function DeclineTable({ declines }: Pick<GetAnalyticsResponse, "declines">) {
  const sum = declines.reduce((all, { attempts }) => all + attempts, 0n);
  const rows = declines.map(
    ({ declineCode, gateway, attempts }) => [declineCode, nameOfGateway(gateway), Number(attempts)] as const,
  );
  return (
    <section className="card" aria-labelledby="declines">
      <div className="chart-head">
        <div>
          <h2 id="declines">Decline reasons</h2>
          <p className="soft small">{formatCount(sum)} declined attempts, by decline code and gateway.</p>
        </div>
        <Button
          onPress={() => saveFile(csvOf([["Decline code", "Gateway", "Attempts"], ...rows]), "declines.csv")}
          aria-label="Decline reasons as a CSV file"
        >
          CSV
        </Button>
      </div>
      {declines.length === 0 ? (
        <p>No attempt was declined.</p>
      ) : (
        <TableScroll label="Decline reasons">
          <table className="counts">
            <thead>
              <tr>
                <th scope="col">Decline code</th>
                <th scope="col" className="text">
                  Gateway
                </th>
                <th scope="col">Attempts</th>
                <th scope="col">Share</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(([code, gateway, attempts]) => (
                <tr key={`${code} ${gateway}`}>
                  <th scope="row">
                    <code>{code}</code>
                  </th>
                  <td className="text">{gateway}</td>
                  <td>{formatCount(attempts)}</td>
                  <td>
                    <Share part={attempts} of={Number(sum)} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </section>
  );
}

/** Definitions of the counts. */
export function Meanings() {
  return (
    <section className="card" aria-labelledby="meanings">
      <h2 id="meanings">Definitions</h2>
      <dl className="meanings">
        <dt>Payment</dt>
        <dd>
          A payment session that a customer submitted and that has a final outcome. It counts once, at the time of that
          outcome. Sessions that expire without a card are not counted in any rate.
        </dd>
        <dt>Attempt</dt>
        <dd>One request of such a payment to one gateway. A payment that fails over has several.</dd>
        <dt>Payments approved</dt>
        <dd>Payments that succeeded, of all that ended: succeeded, declined or degraded.</dd>
        <dt>Attempts approved</dt>
        <dd>Attempts in which the gateway authorized the amount, of all attempts.</dd>
        <dt>Saved by failover</dt>
        <dd>Payments that succeeded at another gateway than the first one.</dd>
        <dt>Issuing country</dt>
        <dd>The country whose bank issued the card. It is known of cards in the ranges of your routing cases.</dd>
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
        <dd>From the submission to the outcome, without the time that the customer took to authenticate.</dd>
      </dl>
    </section>
  );
}
