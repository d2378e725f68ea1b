/** The first page of a merchant: what needs somebody now, and how the day goes. Nothing stands here that needs nobody. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import {
  type AttentionItem,
  AttentionItem_Kind,
  HomeService,
  type Today,
} from "../../../../gen/dashboard/v1/home_pb.ts";
import { formatAmount } from "../parts/amount.tsx";
import { visible } from "../parts/copied-text.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { dayBegin, dayOf } from "../payment-address.ts";
import { useScope } from "../scope.ts";

// What needs somebody is seen by whoever leaves the page open.
const everyMs = 30_000;

/** The page. */
export function HomePage() {
  const { merchantId, environment, merchantName, environmentName } = useScope();
  // The same all day long, so that the question stays the same.
  const dayStart = timestampFromDate(dayBegin(dayOf(new Date()))!);
  const { data, error, refetch } = useQuery(
    HomeService.method.getHome,
    { merchantId, environment, dayStart },
    { refetchInterval: everyMs },
  );
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Home</h1>
          <p>
            {merchantName}, {environmentName} environment
          </p>
        </div>
      </header>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="Home" />}
      {data && <Attention items={data.attention} isCut={data.attentionCut} />}
      {data?.today && data.today.created > 0 && <Day today={data.today} />}
      {data && data.attention.length === 0 && data.today?.created === 0 && <Quiet />}
    </>
  );
}

function Attention({ items, isCut }: { items: readonly AttentionItem[]; isCut: boolean }) {
  if (items.length === 0) return null;
  return (
    <section className="card attention" aria-labelledby="attention">
      <h2 id="attention">
        {isCut && "More than "}
        {items.length === 1 ? "1 thing needs you" : `${items.length} things need you`}
      </h2>
      <ul>
        {items.map((item) => (
          <li key={`${item.kind} ${item.sessionId}${item.orderRef}${item.endpointId}${item.connectionId}`}>
            <Item item={item} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const titles: Readonly<Record<number, { title: string; tone: "bad" | "warn" }>> = {
  [AttentionItem_Kind.PAID_TWICE]: { title: "Paid more than once", tone: "bad" },
  [AttentionItem_Kind.PAYMENT_ALARM]: { title: "Alarm about a payment", tone: "bad" },
  [AttentionItem_Kind.ENDPOINT_DISABLED]: { title: "Webhook endpoint disabled", tone: "bad" },
  [AttentionItem_Kind.GATEWAY_UNHEALTHY]: { title: "Gateway unhealthy", tone: "warn" },
  [AttentionItem_Kind.PAYMENTS_DEGRADED]: { title: "Payments without an answer", tone: "warn" },
};

function Item({ item }: { item: AttentionItem }) {
  const { title, tone } = titles[item.kind] ?? { title: "Look at this", tone: "warn" };
  return (
    <>
      <span className="badge" data-tone={tone}>
        {title}
      </span>
      <div>
        <p>
          {item.orderRef && (
            <>
              <strong>
                <bdi>{visible(item.orderRef)}</bdi>
              </strong>
              {": "}
            </>
          )}
          <bdi>{visible(item.text)}</bdi>
        </p>
        {item.since && (
          <p className="soft small">
            since <Moment at={item.since} />
          </p>
        )}
      </div>
      <ItemLink item={item} />
    </>
  );
}

/** To where something can be done about it. */
function ItemLink({ item }: { item: AttentionItem }) {
  const { environmentName: environment, merchantId } = useScope();
  const scope = { environment, merchantId };
  switch (item.kind) {
    case AttentionItem_Kind.PAID_TWICE:
      if (item.sessionId !== "") return <PaymentLink item={item} />;
      return (
        <Link to="/$environment/$merchantId/payments" params={scope} search={{ q: item.orderRef }}>
          See the payments
        </Link>
      );
    case AttentionItem_Kind.PAYMENT_ALARM:
      return <PaymentLink item={item} />;
    case AttentionItem_Kind.PAYMENTS_DEGRADED:
      return (
        <Link to="/$environment/$merchantId/payments" params={scope} search={{ status: "degraded" }}>
          See the payments
        </Link>
      );
    case AttentionItem_Kind.GATEWAY_UNHEALTHY:
      return (
        <Link to="/$environment/$merchantId/gateways" params={scope}>
          See the gateway
        </Link>
      );
    case AttentionItem_Kind.ENDPOINT_DISABLED:
      return (
        <Link to="/$environment/$merchantId/webhooks" params={scope}>
          See the endpoint
        </Link>
      );
    default:
      return null;
  }
}

function PaymentLink({ item: { sessionId } }: { item: AttentionItem }) {
  const { environmentName: environment, merchantId } = useScope();
  return (
    <Link to="/$environment/$merchantId/payments/$sessionId" params={{ environment, merchantId, sessionId }}>
      See the payment
    </Link>
  );
}

function Day({ today }: { today: Today }) {
  const decided = today.succeeded + today.declined + today.degraded;
  const rate = decided === 0 ? undefined : today.succeeded / decided;
  const number = new Intl.NumberFormat();
  const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
  return (
    <section className="stack" aria-labelledby="today">
      <h2 id="today">Today</h2>
      <div className="day-figures">
        {today.volume.length > 0 && (
          <Figure name="Taken" value={formatAmount(today.volume[0]!)}>
            {today.volume.slice(1).map((amount) => (
              <div key={amount.currency}>and {formatAmount(amount)}</div>
            ))}
          </Figure>
        )}
        <Figure name="Payments" value={number.format(today.created)}>
          {number.format(today.succeeded)} succeeded
          {today.newestOnly && <div>The newest alone are counted.</div>}
        </Figure>
        {rate !== undefined && (
          <Figure name="Approval rate" value={percent.format(rate)}>
            of {number.format(decided)} that were decided
          </Figure>
        )}
        {today.savedByFailover > 0 && (
          <Figure name="Saved by failover" value={number.format(today.savedByFailover)}>
            taken by another gateway than the first
          </Figure>
        )}
      </div>
    </section>
  );
}

function Figure({ name, value, children }: { name: string; value: string; children: ReactNode }) {
  return (
    <div className="card day-figure">
      <h3>{name}</h3>
      <p className="day-value">{value}</p>
      <div className="soft small">{children}</div>
    </div>
  );
}

function Quiet() {
  return (
    <div className="card empty">
      <h2>Nothing needs you</h2>
      <p>Payments of today, and whatever needs somebody, will stand here.</p>
    </div>
  );
}
