/** The first page of a merchant: alerts and today's payments. It shows only alerts that need a person. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type AlertItem, AlertItem_Kind, HomeService, type Today } from "../../../../gen/dashboard/v1/home_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { formatAmount } from "../parts/amount.tsx";
import { visible } from "../parts/copied-text.tsx";
import { nameGatewaysIn } from "../parts/gateway-name.ts";
import { NoZone } from "../parts/no-zone.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { ownZone } from "../parts/time-zones.ts";
import { dayBegin, dayOf, type PaymentSearch } from "../payment-address.ts";
import { useScope } from "../scope.ts";
import { CloseAlarm } from "./close-alarm.tsx";
import { GoingLive, SetUp } from "./home-set-up.tsx";
import { Recent, Week } from "./home-week.tsx";

// Alerts appear while the page stays open.
const everyMs = 30_000;

/** The page. */
export function HomePage() {
  const { merchantId, environment, merchantName, environmentName } = useScope();
  // Constant all day, so that the query stays the same.
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
          <NoZone />
        </div>
      </header>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="Home" />}
      {data && data.alerts.length === 0 && data.missing.length === 0 && data.unconfirmedAddresses.length === 0 && (
        <p className="banner" data-tone="good">
          Nothing needs attention.
        </p>
      )}
      {data && <Alerts items={data.alerts} isCut={data.alertsCut} />}
      {data && data.unconfirmedAddresses.length > 0 && <Unconfirmed addresses={data.unconfirmedAddresses} />}
      {data && data.missing.length > 0 && <SetUp missing={data.missing} />}
      {data && data.missing.length === 0 && environmentName === "test" && <GoingLive />}
      {data?.today && data.today.created > 0 && <Day today={data.today} />}
      {data && <Week />}
      {data && <Recent everyMs={everyMs} isSetUp={data.missing.length === 0} />}
    </>
  );
}

function Unconfirmed({ addresses }: { addresses: readonly string[] }) {
  const { environmentName: environment, merchantId } = useScope();
  const [address, ...more] = addresses;
  return (
    <p className="banner">
      {more.length === 0 ? (
        <>
          <bdi>{address}</bdi> gets no alerts until it confirms by the link in its mail.
        </>
      ) : (
        `${addresses.length} addresses get no alerts until they confirm by the link in their mail.`
      )}{" "}
      <Link to="/$environment/$merchantId/settings" params={{ environment, merchantId }} hash="alerts">
        See the addresses
      </Link>
    </p>
  );
}

function Alerts({ items, isCut }: { items: readonly AlertItem[]; isCut: boolean }) {
  if (items.length === 0) return null;
  return (
    <section className="card alerts" aria-labelledby="alerts">
      <h2 id="alerts">
        {isCut && "More than "}
        {items.length === 1 ? "1 alert needs attention" : `${items.length} alerts need attention`}
      </h2>
      <ul>
        {items.map((item) => (
          <li
            key={`${item.kind} ${item.sessionId}${item.orderRef}${item.endpointId}${item.connectionId}${item.gateway}`}
          >
            <Item item={item} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const titles: Readonly<Record<number, { title: string; tone: "bad" | "warn" }>> = {
  [AlertItem_Kind.PAID_TWICE]: { title: "Paid more than once", tone: "bad" },
  [AlertItem_Kind.PAYMENT_ALARM]: { title: "Alarm about a payment", tone: "bad" },
  [AlertItem_Kind.ENDPOINT_DISABLED]: { title: "Webhook endpoint disabled", tone: "bad" },
  [AlertItem_Kind.ORDER_REF_LIKE_CARD]: { title: "An order reference looks like a card number", tone: "bad" },
  [AlertItem_Kind.GATEWAY_UNHEALTHY]: { title: "Gateway unhealthy", tone: "warn" },
  [AlertItem_Kind.CREDENTIALS_REFUSED]: { title: "Gateway refuses credentials", tone: "bad" },
  [AlertItem_Kind.PAYMENTS_DEGRADED]: { title: "Failed payments", tone: "warn" },
  [AlertItem_Kind.APPROVAL_RATE_LOW]: { title: "Approval rate low", tone: "warn" },
  [AlertItem_Kind.GATEWAY_UNVERIFIED]: { title: "Gateway not verified", tone: "warn" },
  [AlertItem_Kind.ENDPOINT_UNVERIFIED]: { title: "Webhook endpoint not verified", tone: "warn" },
  [AlertItem_Kind.HOLDS_EXPIRING]: { title: "Holds end soon", tone: "warn" },
  [AlertItem_Kind.CARD_TESTING]: { title: "Card testing", tone: "warn" },
  [AlertItem_Kind.ENDPOINT_FAILING]: { title: "Webhook endpoint failing", tone: "warn" },
};

function Item({ item }: { item: AlertItem }) {
  const known = titles[item.kind] ?? { title: "Needs attention", tone: "warn" };
  const { tone } = known;
  const title = item.count > 1 ? `Alarm about ${item.count} payments` : known.title;
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
          <bdi>{visible(nameGatewaysIn(item.text))}</bdi>
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

/** A link to the page where the alert can be handled. */
function ItemLink({ item }: { item: AlertItem }) {
  const { environmentName: environment, merchantId, role } = useScope();
  const scope = { environment, merchantId };
  switch (item.kind) {
    case AlertItem_Kind.PAID_TWICE:
      return (
        <div className="row">
          {item.sessionId !== "" ? (
            <PaymentLink item={item} />
          ) : (
            <Link to="/$environment/$merchantId/payments" params={scope} search={{ q: item.orderRef }}>
              See the payments
            </Link>
          )}
          {role >= Role.DEVELOPER && item.refundSessionId !== "" && (
            <Link
              to="/$environment/$merchantId/payments/$sessionId"
              params={{ ...scope, sessionId: item.refundSessionId }}
              search={{ refund: "duplicate" }}
            >
              Refund the newest one
            </Link>
          )}
        </div>
      );
    case AlertItem_Kind.PAYMENT_ALARM:
      return (
        <div className="row">
          <PaymentLink item={item} />
          {role >= Role.DEVELOPER && item.workItemId !== "" && (
            <CloseAlarm workItemId={item.workItemId} about={item.sessionId} count={item.count} />
          )}
        </div>
      );
    case AlertItem_Kind.ORDER_REF_LIKE_CARD:
      return <PaymentLink item={item} />;
    case AlertItem_Kind.PAYMENTS_DEGRADED:
      return (
        <Link to="/$environment/$merchantId/payments" params={scope} search={{ status: "failed" }}>
          See the payments
        </Link>
      );
    case AlertItem_Kind.APPROVAL_RATE_LOW:
      return (
        <Link to="/$environment/$merchantId/analytics" params={scope} search={{ gateway: item.gateway }}>
          See the decline reasons
        </Link>
      );
    case AlertItem_Kind.CARD_TESTING:
      return (
        <Link to="/$environment/$merchantId/settings" params={scope} hash="card-testing">
          See braking
        </Link>
      );
    case AlertItem_Kind.HOLDS_EXPIRING:
      return (
        <Link to="/$environment/$merchantId/payments" params={scope} search={{ status: "held" }}>
          See the payments
        </Link>
      );
    case AlertItem_Kind.GATEWAY_UNHEALTHY:
    case AlertItem_Kind.CREDENTIALS_REFUSED:
    case AlertItem_Kind.GATEWAY_UNVERIFIED:
      return (
        <Link to="/$environment/$merchantId/gateways" params={scope}>
          See the gateway
        </Link>
      );
    case AlertItem_Kind.ENDPOINT_DISABLED:
    case AlertItem_Kind.ENDPOINT_UNVERIFIED:
    case AlertItem_Kind.ENDPOINT_FAILING:
      return (
        <Link to="/$environment/$merchantId/webhooks" params={scope}>
          See the endpoint
        </Link>
      );
    default:
      return null;
  }
}

function PaymentLink({ item }: { item: AlertItem }) {
  const { sessionId } = item;
  const { environmentName: environment, merchantId } = useScope();
  return (
    <Link to="/$environment/$merchantId/payments/$sessionId" params={{ environment, merchantId, sessionId }}>
      {item.count > 1 ? "See the newest payment" : "See the payment"}
    </Link>
  );
}

function Day({ today }: { today: Today }) {
  const approved = today.succeeded + today.released;
  const decided = approved + today.declined + today.degraded;
  const rate = decided === 0 ? undefined : approved / decided;
  const number = new Intl.NumberFormat();
  const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
  return (
    <section className="stack" aria-labelledby="today">
      <div>
        <h2 id="today">Today</h2>
        <p className="small">Payments created since midnight ({ownZone}).</p>
      </div>
      <div className="day-figures">
        {/* By code, an order that stays however the day goes. */}
        {today.volume
          .toSorted((left, right) => (left.currency < right.currency ? -1 : 1))
          .map((amount) => (
            <Figure
              key={amount.currency}
              name={`Captured in ${amount.currency}`}
              value={formatAmount(amount)}
              list={{ status: "succeeded", currency: amount.currency }}
            />
          ))}
        <Figure name="Payments" value={number.format(today.created)} list={{}}>
          {number.format(today.succeeded)} succeeded
          {today.newestOnly && <div>Only the newest payments are counted.</div>}
        </Figure>
        {rate !== undefined && (
          <Figure name="Approval rate" value={percent.format(rate)}>
            {number.format(approved)} of {number.format(decided)} that ended
          </Figure>
        )}
        {today.savedByFailover > 0 && (
          <Figure
            name="Saved by failover"
            value={number.format(today.savedByFailover)}
            list={{ failover: true }}
            isSaved
          >
            captured by a gateway other than the first
          </Figure>
        )}
      </div>
    </section>
  );
}

/** A figure of today; `list` are the filters of its payments, if it counts some. */
function Figure(props: { name: string; value: string; list?: PaymentSearch; isSaved?: boolean; children?: ReactNode }) {
  const { name, value, list, isSaved, children } = props;
  const { environmentName: environment, merchantId } = useScope();
  return (
    <div className="card day-figure">
      <h3>
        {list ? (
          <Link
            to="/$environment/$merchantId/payments"
            params={{ environment, merchantId }}
            search={{ ...list, after: dayOf(new Date()) }}
          >
            {name}
          </Link>
        ) : (
          name
        )}
      </h3>
      <p className={isSaved ? "day-value saved" : "day-value"}>{value}</p>
      <div className="soft small">{children}</div>
    </div>
  );
}
