/** The first page of a merchant: today's payments, the alerts that need a person, and the newest payments. */
import { useQuery } from "@connectrpc/connect-query";
import { type AlertItem, AlertItem_Kind, HomeService } from "../../../../gen/dashboard/v1/home_pb.ts";
import { PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Badge } from "../parts/badge.tsx";
import { visible } from "../parts/copied-text.tsx";
import { nameGatewaysIn } from "../parts/gateway-name.ts";
import { NoZone } from "../parts/no-zone.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { ScopeLink, useScope } from "../scope.ts";
import { useApprovals, WaitingApprovals } from "./approvals.tsx";
import { CloseAlarm } from "./close-alarm.tsx";
import { GoingLive, SetUp } from "./home-set-up.tsx";
import { Today } from "./home-today.tsx";
import { PaymentsTable } from "./payments-table.tsx";

const recentRows = 5;

// Alerts appear while the page stays open.
const everyMs = 30_000;

export function HomePage() {
  const { merchantId, environment, merchantName, environmentName } = useScope();
  const { data, error, refetch } = useQuery(
    HomeService.method.getHome,
    { merchantId, environment },
    { refetchInterval: everyMs },
  );
  const isWaiting = (useApprovals(everyMs)?.waiting.length ?? 0) > 0;
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
      <Today everyMs={everyMs} />
      {data &&
        !isWaiting &&
        data.alerts.length === 0 &&
        data.missing.length === 0 &&
        data.unconfirmedAddresses.length === 0 && (
          <p className="banner" data-tone="good">
            Nothing needs attention.
          </p>
        )}
      <WaitingApprovals everyMs={everyMs} />
      {data && <Alerts items={data.alerts} isCut={data.alertsCut} />}
      {data && data.unconfirmedAddresses.length > 0 && <Unconfirmed addresses={data.unconfirmedAddresses} />}
      {data && data.missing.length > 0 && <SetUp missing={data.missing} />}
      {data && <Recent isSetUp={data.missing.length === 0} />}
      {data && data.missing.length === 0 && environmentName === "test" && <GoingLive />}
    </>
  );
}

function Unconfirmed({ addresses }: { addresses: readonly string[] }) {
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
      <ScopeLink to="./settings" hash="alerts">
        See the addresses
      </ScopeLink>
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
  [AlertItem_Kind.DISPUTES_OPEN]: { title: "Disputes", tone: "bad" },
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
  [AlertItem_Kind.AGREEMENTS_UNCHARGEABLE]: { title: "Agreement without a gateway", tone: "bad" },
  [AlertItem_Kind.RENEWALS_STOPPED]: { title: "Renewals stopped", tone: "bad" },
  [AlertItem_Kind.CARDS_NOT_ERASED]: { title: "Deleted cards not erased", tone: "warn" },
  [AlertItem_Kind.APPLE_PAY_ENDING]: { title: "Apple Pay ends", tone: "warn" },
  [AlertItem_Kind.DISPUTES_UNREADABLE]: { title: "Disputes cannot be read", tone: "warn" },
  [AlertItem_Kind.SETTLEMENT_OVERDUE]: { title: "Payments not paid out", tone: "warn" },
  [AlertItem_Kind.PAYOUT_REMAINDER]: { title: "Payout does not add up", tone: "warn" },
  [AlertItem_Kind.SETTLEMENT_UNREADABLE]: { title: "Payouts cannot be read", tone: "warn" },
  [AlertItem_Kind.ENDPOINT_FAILING]: { title: "Webhook endpoint failing", tone: "warn" },
};

function Item({ item }: { item: AlertItem }) {
  const known = titles[item.kind] ?? { title: "Needs attention", tone: "warn" };
  const { tone } = known;
  const title = item.count > 1 ? `Alarm about ${item.count} payments` : known.title;
  return (
    <>
      <Badge tone={tone}>{title}</Badge>
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
          {item.dueBy && (
            <>
              {" "}
              Next deadline: <Moment at={item.dueBy} />.
            </>
          )}
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

function ItemLink({ item }: { item: AlertItem }) {
  const { role } = useScope();
  switch (item.kind) {
    case AlertItem_Kind.PAID_TWICE:
      return (
        <div className="row">
          {item.sessionId !== "" ? (
            <PaymentLink item={item} />
          ) : (
            <ScopeLink to="./payments" search={{ q: item.orderRef }}>
              See the payments
            </ScopeLink>
          )}
          {includesRole(role, Role.SUPPORT) && item.refundSessionId !== "" && (
            <ScopeLink
              to="./payments/$sessionId"
              params={{ sessionId: item.refundSessionId }}
              search={{ refund: "duplicate" }}
            >
              Refund the newest one
            </ScopeLink>
          )}
        </div>
      );
    case AlertItem_Kind.PAYMENT_ALARM:
      return (
        <div className="row">
          <PaymentLink item={item} />
          {includesRole(role, Role.DEVELOPER) && item.workItemId !== "" && (
            <CloseAlarm workItemId={item.workItemId} about={item.sessionId} count={item.count} />
          )}
        </div>
      );
    case AlertItem_Kind.DISPUTES_OPEN:
      return (
        <ScopeLink to="./payments" search={{ dispute: "needs_response" }}>
          See the payments
        </ScopeLink>
      );
    case AlertItem_Kind.ORDER_REF_LIKE_CARD:
      return <PaymentLink item={item} />;
    case AlertItem_Kind.PAYMENTS_DEGRADED:
      return (
        <ScopeLink to="./payments" search={{ status: "failed" }}>
          See the payments
        </ScopeLink>
      );
    case AlertItem_Kind.APPROVAL_RATE_LOW:
      return (
        <ScopeLink to="./analytics" search={{ gateway: item.gateway }}>
          See the decline reasons
        </ScopeLink>
      );
    case AlertItem_Kind.CARD_TESTING:
      return (
        <ScopeLink to="./settings" hash="card-testing">
          See the setting
        </ScopeLink>
      );
    case AlertItem_Kind.HOLDS_EXPIRING:
      return (
        <ScopeLink to="./payments" search={{ status: "held" }}>
          See the payments
        </ScopeLink>
      );
    case AlertItem_Kind.GATEWAY_UNHEALTHY:
    case AlertItem_Kind.CREDENTIALS_REFUSED:
    case AlertItem_Kind.GATEWAY_UNVERIFIED:
    case AlertItem_Kind.DISPUTES_UNREADABLE:
    case AlertItem_Kind.SETTLEMENT_UNREADABLE:
      return <ScopeLink to="./gateways">See the gateway</ScopeLink>;
    case AlertItem_Kind.SETTLEMENT_OVERDUE:
      return (
        <ScopeLink to="./settlement" search={{ gateway: item.gateway }}>
          See the open payments
        </ScopeLink>
      );
    case AlertItem_Kind.PAYOUT_REMAINDER:
      return (
        <ScopeLink to="./payouts" search={{ remainder: true, gateway: item.gateway }}>
          See the payout
        </ScopeLink>
      );
    case AlertItem_Kind.AGREEMENTS_UNCHARGEABLE:
      return <ScopeLink to="./gateways">See the gateways</ScopeLink>;
    case AlertItem_Kind.APPLE_PAY_ENDING:
      return <ScopeLink to="./wallets">See the certificate</ScopeLink>;
    case AlertItem_Kind.RENEWALS_STOPPED:
      return (
        <ScopeLink to="./payments" search={{ status: "declined", gateway: item.gateway }}>
          See the declined payments
        </ScopeLink>
      );
    case AlertItem_Kind.ENDPOINT_DISABLED:
    case AlertItem_Kind.ENDPOINT_UNVERIFIED:
    case AlertItem_Kind.ENDPOINT_FAILING:
      return <ScopeLink to="./webhooks">See the endpoint</ScopeLink>;
    default:
      return null;
  }
}

function PaymentLink({ item }: { item: AlertItem }) {
  const { sessionId } = item;
  return (
    <ScopeLink to="./payments/$sessionId" params={{ sessionId }}>
      {item.count > 1 ? "See the newest payment" : "See the payment"}
    </ScopeLink>
  );
}

/** The newest payments, or how the first one comes once everything is set up. */
function Recent({ isSetUp }: { isSetUp: boolean }) {
  const { merchantId, environment, environmentName } = useScope();
  const { data } = useQuery(
    PaymentService.method.listPayments,
    { merchantId, environment, pageSize: recentRows },
    { refetchInterval: everyMs },
  );
  if (!data) return null;
  if (data.payments.length === 0) {
    if (!isSetUp) return null;
    return (
      <Empty title={`No payments in ${environmentName} yet`}>
        <p>They appear here as soon as your backend creates a session with the secret key.</p>
        <ScopeLink to="./keys">See the API keys</ScopeLink>
      </Empty>
    );
  }
  return (
    <section className="stack" aria-labelledby="recent">
      <div className="page-head">
        <h2 id="recent">Recent payments</h2>
        <ScopeLink to="./payments">See all payments</ScopeLink>
      </div>
      <PaymentsTable label="Newest payments" rows={data.payments.map((payment) => ({ payment }))} />
    </section>
  );
}
