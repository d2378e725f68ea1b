/** The attempts of a payment: each gateway's answer, in its own code and in ours. */
import type {
  AttemptAuthentication,
  PaymentAttempt,
  PaymentSummary,
} from "../../../../gen/dashboard/v1/payments_pb.ts";
import {
  Attempt_FailureKind,
  Attempt_Status,
  Authentication_Flow as Flow,
  Authentication_Liability as Liability,
  Authentication_Status as Status,
} from "../../../../gen/payments/v1/payment_session_pb.ts";
import { Badge } from "../parts/badge.tsx";
import { Gateway } from "../parts/brand.tsx";
import { CopiedText, visible } from "../parts/copied-text.tsx";
import { Fact } from "../parts/fact.tsx";
import { nameGatewaysIn } from "../parts/gateway-name.ts";
import { Moment } from "../parts/time.tsx";
import { AttemptDecisionPart } from "./attempt-decision.tsx";

const statusNames: Readonly<Record<number, { name: string; tone?: "good" | "warn" | "bad" }>> = {
  [Attempt_Status.AUTHORIZING]: { name: "Authorizing", tone: "warn" },
  [Attempt_Status.AWAITING_CUSTOMER]: { name: "Awaiting customer", tone: "warn" },
  [Attempt_Status.AUTHORIZED]: { name: "Authorized", tone: "warn" },
  [Attempt_Status.CAPTURED]: { name: "Captured", tone: "good" },
  [Attempt_Status.DECLINED]: { name: "Declined", tone: "bad" },
  [Attempt_Status.FAILED]: { name: "Failed", tone: "bad" },
  [Attempt_Status.UNKNOWN]: { name: "Unknown", tone: "warn" },
  [Attempt_Status.VOIDING]: { name: "Voiding", tone: "warn" },
  [Attempt_Status.VOIDED]: { name: "Voided" },
};

// Ended by a person's decision, where the gateway never confirmed the void.
const givenUp = { name: "Given up", tone: undefined };

// Gateways' answers other than a decline.
const failures: Readonly<Record<number, string>> = {
  [Attempt_FailureKind.TIMEOUT]: "no answer in time",
  [Attempt_FailureKind.GATEWAY_ERROR]: "an error of the gateway",
};

export function PaymentAttempts(props: {
  attempts: readonly PaymentAttempt[];
  summary: PaymentSummary;
  onChange: () => unknown;
}) {
  const { attempts, summary, onChange } = props;
  return (
    <section className="stack" aria-labelledby="attempts">
      <h2 id="attempts">Attempts</h2>
      <ol className="attempts">
        {attempts.map((attempt) => (
          <li className="card" key={attempt.attemptId}>
            <AttemptCard attempt={attempt} />
            <AttemptDecisionPart attempt={attempt} summary={summary} onChange={onChange} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function AttemptCard({ attempt }: { attempt: PaymentAttempt }) {
  const { sequence, gateway, status, failureKind, declineCode, gatewayCode, nextBecause } = attempt;
  const reason = failures[failureKind] ?? declineCode.replaceAll("_", " ");
  const { name, tone } = attempt.givenUp ? givenUp : (statusNames[status] ?? { name: "–" });
  return (
    <>
      <h3>
        {sequence}. <Gateway gateway={gateway} /> <Badge tone={tone}>{name}</Badge>
      </h3>
      <dl className="facts">
        {reason && <Fact name="Reason">{reason}</Fact>}
        {gatewayCode && (
          <Fact name="The gateway’s own code">
            <code>
              <bdi>{visible(gatewayCode)}</bdi>
            </code>
          </Fact>
        )}
        {attempt.gatewayReference && (
          <Fact name="The gateway’s reference">
            <CopiedText label="the gateway’s reference" text={attempt.gatewayReference} />
          </Fact>
        )}
        {attempt.authentication && <AuthenticationFacts authentication={attempt.authentication} />}
        <Fact name="Attempt">
          <CopiedText label="the attempt’s id" text={attempt.attemptId} />
        </Fact>
      </dl>
      {nextBecause && <p>{nameGatewaysIn(nextBecause)}</p>}
    </>
  );
}

const authenticationNames: Readonly<Record<number, string>> = {
  [Status.AWAITING_CUSTOMER]: "waiting for the customer",
  [Status.CONFIRMING]: "answered; the gateway completes the payment",
  [Status.AUTHENTICATED]: "passed",
  [Status.ATTEMPTED]: "the bank did not take part",
  [Status.UNAVAILABLE]: "no result",
  [Status.FAILED]: "refused by the bank",
  [Status.CANCELLED]: "cancelled by the customer",
  [Status.ABANDONED]: "not finished in time",
};

const liabilityNames: Readonly<Record<number, string>> = {
  [Liability.ISSUER]: "the issuer",
  [Liability.MERCHANT]: "you",
  [Liability.UNKNOWN]: "not known",
};

/** The customer authentication of an attempt: its state, the customer's time, and who is liable. */
function AuthenticationFacts({ authentication }: { authentication: AttemptAuthentication }) {
  const { status, flow, until, completedAt, shownAt, durationMs, liability, version, eci } = authentication;
  const reported = [version && `3-D Secure ${version}`, eci && `ECI ${eci}`].filter(Boolean).join(", ");
  return (
    <>
      <Fact name="Authentication">
        {authenticationNames[status]}
        {flow === Flow.FRICTIONLESS && ", without asking the customer"}
        {reported && ` (${reported})`}
      </Fact>
      {!completedAt && (
        <Fact name="The customer has time until">
          <Moment at={until} />
        </Fact>
      )}
      {durationMs !== undefined && (
        <Fact name={shownAt ? "Time at the bank" : "Time without seeing the bank’s page"}>
          {(Number(durationMs) / 1_000).toLocaleString(undefined, { maximumFractionDigits: 1 })} s
        </Fact>
      )}
      {liabilityNames[liability] && <Fact name="Liable for fraud">{liabilityNames[liability]}</Fact>}
    </>
  );
}
