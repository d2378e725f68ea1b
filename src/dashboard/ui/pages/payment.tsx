/** A payment with its full history: everything that support staff need. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { type Payment, PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { type BillingAddress, DisputeResponse_Status } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { capturedInPart, formatAmount } from "../parts/amount.tsx";
import { CardFace } from "../parts/brand.tsx";
import { CopiedText, CopyButton, visible } from "../parts/copied-text.tsx";
import { Fact } from "../parts/fact.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { PaymentState } from "../parts/payment-state.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { codeOf } from "../rpc.ts";
import { ScopeLink, useScope } from "../scope.ts";
import { PaymentActions } from "./payment-actions.tsx";
import { PaymentAttempts } from "./payment-attempts.tsx";
import { PaymentDisputes } from "./payment-disputes.tsx";
import { isCaptureFailed, reasonOf } from "./payment-reason.ts";
import { PaymentRefunds } from "./payment-refunds.tsx";
import { PaymentStored } from "./payment-stored.tsx";
import { PaymentTimeline } from "./payment-timeline.tsx";

// The page is at its limit of bytes, and few look for these first.
const BlockPayment = lazy(() => import("./block-payment.tsx"));
const PaymentSettlement = lazy(() => import("./payment-settlement.tsx"));

// A processing payment, or one with pending webhooks, is polled until it has ended.
const underWayEveryMs = 3_000;

// Some gateways report the end of a refund days later: a pending one is polled as often for a while only.
const pendingRefundMs = 5 * 60_000;

/**
 * Reports whether the payment or a new refund of it has not ended, or a worker has yet to apply a decision about an
 * attempt, or to send the answer to a dispute.
 */
function isUnderWay(payment: Payment | undefined): boolean {
  const isDecided = payment?.attempts.some(({ decision, completedAt }) => decision?.confirmedAt && !completedAt);
  const isRefunding = payment?.refunds.some(
    ({ createdAt, completedAt }) =>
      createdAt && !completedAt && Date.now() - timestampDate(createdAt).getTime() < pendingRefundMs,
  );
  const isAnswering = payment?.disputes.some(({ responses }) =>
    responses.some(({ status }) => status === DisputeResponse_Status.REQUESTED),
  );
  return payment?.summary?.processing === true || isDecided === true || isRefunding === true || isAnswering === true;
}

export function PaymentPage() {
  const { merchantId, environment, environmentName } = useScope();
  const { sessionId } = useParams({ from: "/signed-in/$environment/$merchantId/payments/$sessionId" });
  const { data, error, refetch } = useQuery(
    PaymentService.method.getPayment,
    { merchantId, environment, sessionId },
    { refetchInterval: ({ state }) => (isUnderWay(state.data?.payment) ? underWayEveryMs : false) },
  );
  const payment = data?.payment;
  return (
    <>
      <nav aria-label="Back">
        <ScopeLink to="./payments">Payments</ScopeLink>
      </nav>
      {error && codeOf(error) === "not_found" && (
        <>
          <h1>Payment</h1>
          <Empty title={`Payment not found in ${environmentName}`}>
            <p>It may be in the other environment, or belong to another merchant.</p>
          </Empty>
        </>
      )}
      {error && codeOf(error) !== "not_found" && !data && <Failure error={error} onRetry={refetch} />}
      {!payment && !error && <Loading what="The payment" />}
      {payment && <Details payment={payment} onChange={refetch} />}
    </>
  );
}

function Details({ payment, onChange }: { payment: Payment; onChange: () => unknown }) {
  const { summary, attempts, timeline } = payment;
  const { refund } = useSearch({ from: "/signed-in/$environment/$merchantId/payments/$sessionId" });
  const navigate = useNavigate();
  if (!summary) return null;
  const inPart = capturedInPart(summary);
  const reason = reasonOf(payment);
  const onRefund = async () => {
    // A page that is loaded again opens no form.
    if (refund) await navigate({ to: ".", search: {}, replace: true });
    await onChange();
  };
  return (
    <>
      <header className="page-head">
        <div>
          <h1>
            {inPart && `${inPart} captured of `}
            {summary.amount && formatAmount(summary.amount)} <PaymentState payment={summary} />
          </h1>
          {reason && <p className="reason">{reason}</p>}
          <p>
            <bdi>{visible(summary.orderRef)}</bdi>
            {summary.cardLast4 && (
              <>
                {" · "}
                <CardFace brand={summary.cardBrand} last4={summary.cardLast4} wallet={summary.wallet} />
              </>
            )}
          </p>
        </div>
        <PaymentActions payment={payment} refundReason={refund} onChange={onRefund} />
      </header>
      {summary.awaitingCustomer && <Awaiting attempts={attempts} />}
      <PaymentDisputes payment={payment} onChange={onChange} />
      <div className="payment-columns">
        <div className="stack">
          {attempts.length > 0 && <PaymentAttempts attempts={attempts} summary={summary} onChange={onChange} />}
          {payment.stored && <PaymentStored stored={payment.stored} customerRef={payment.customerRef} />}
          <PaymentRefunds payment={payment} onChange={onChange} />
          <PaymentTimeline steps={timeline} />
        </div>
        <Facts payment={payment} />
      </div>
    </>
  );
}

/** Says that the payment waits for its customer, and until when. */
function Awaiting({ attempts }: { attempts: Payment["attempts"] }) {
  const asked = attempts.find(({ authentication }) => authentication && !authentication.completedAt);
  return (
    <p className="banner" role="status">
      The payment waits for its customer, whom {nameOfGateway(asked?.gateway ?? "")} asks to confirm it at the bank.
      Without an answer it ends as declined at <Moment at={asked?.authentication?.until} />.
    </p>
  );
}

function Facts({ payment }: { payment: Payment }) {
  const { role } = useScope();
  const { summary, customerEmail, customerName, billingAddress } = payment;
  const { captureConfirmed, expiresAt, submittedAt, ruleVersion } = payment;
  return (
    <aside className="card payment-facts" aria-label="Facts">
      <dl className="facts">
        <Fact name="Session">
          <CopiedText label="the session’s id" text={summary?.sessionId ?? ""} />
        </Fact>
        <Fact name="Order reference">
          <CopiedText label="the order reference" text={summary?.orderRef ?? ""} />
        </Fact>
        {customerEmail && (
          <Fact name="Customer">
            <ScopeLink to="./payments/customer" search={{ email: customerEmail }}>
              <bdi>{visible(customerEmail)}</bdi>
            </ScopeLink>{" "}
            <CopyButton label="the customer’s address" text={customerEmail} />
          </Fact>
        )}
        {payment.customerRef && (
          <Fact name="Customer reference">
            <ScopeLink to="./payments/customer" search={{ customer: payment.customerRef }}>
              <bdi>{visible(payment.customerRef)}</bdi>
            </ScopeLink>{" "}
            <CopyButton label="the customer reference" text={payment.customerRef} />
          </Fact>
        )}
        {customerName && (
          <Fact name="Customer’s name">
            <bdi>{visible(customerName)}</bdi>
          </Fact>
        )}
        {billingAddress && (
          <Fact name="Billing address">
            <bdi>{visible(addressLine(billingAddress))}</bdi>
          </Fact>
        )}
        {payment.statementDescriptor && <Fact name="Statement descriptor">{payment.statementDescriptor}</Fact>}
        <Fact name="Created">
          <Moment at={summary?.createdAt} />
        </Fact>
        {submittedAt ? (
          <Fact name="Submitted">
            <Moment at={submittedAt} />
          </Fact>
        ) : (
          <Fact name="Accepts a card until">
            <Moment at={expiresAt} />
          </Fact>
        )}
        {summary?.settledAt && (
          <Fact name="Ended">
            <Moment at={summary.settledAt} />
          </Fact>
        )}
        {captureConfirmed === false && (
          <Fact name="Capture">
            {isCaptureFailed(payment)
              ? "failed, as the gateway reported later"
              : "accepted by the gateway, not confirmed yet"}
          </Fact>
        )}
        {summary?.amountCaptured && (
          <Suspense>
            <PaymentSettlement sessionId={summary.sessionId} />
          </Suspense>
        )}
        {ruleVersion !== undefined && (
          <Fact name="Routing rule">{ruleVersion === 0 ? "the default rule" : `version ${ruleVersion}`}</Fact>
        )}
        {payment.createRequestId && (
          <Fact name="Request that created it">
            <CopiedText label="the creating request’s id" text={payment.createRequestId} />
          </Fact>
        )}
        {payment.submitRequestId && (
          <Fact name="Request that submitted it">
            <CopiedText label="the submitting request’s id" text={payment.submitRequestId} />
          </Fact>
        )}
      </dl>
      <Metadata metadata={payment.metadata} />
      {submittedAt && includesRole(role, Role.DEVELOPER) && (
        <Suspense>
          <BlockPayment sessionId={summary?.sessionId ?? ""} />
        </Suspense>
      )}
    </aside>
  );
}

function addressLine({ line1, line2, postalCode, city, region, country }: BillingAddress): string {
  return [line1, line2, `${postalCode} ${city}`, region, country].filter(Boolean).join(", ");
}

function Metadata({ metadata }: { metadata: Payment["metadata"] }) {
  const pairs = Object.entries(metadata).toSorted(([one], [other]) => one.localeCompare(other));
  if (pairs.length === 0) return null;
  return (
    <>
      <h2>Metadata</h2>
      <dl className="facts">
        {pairs.map(([key, value]) => (
          <div key={key}>
            <dt>
              <code>{key}</code>
            </dt>
            <dd>
              <bdi>{visible(value)}</bdi>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
