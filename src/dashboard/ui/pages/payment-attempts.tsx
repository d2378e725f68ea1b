/** The gateways that a payment was tried at: what each said, in its own code and in ours. */
import type { PaymentAttempt } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Attempt_FailureKind, Attempt_Status } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { CopiedText, visible } from "../parts/copied-text.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";

const statusNames: Readonly<Record<number, { name: string; tone?: "good" | "warn" | "bad" }>> = {
  [Attempt_Status.AUTHORIZING]: { name: "Authorizing", tone: "warn" },
  [Attempt_Status.AUTHORIZED]: { name: "Authorized", tone: "warn" },
  [Attempt_Status.CAPTURED]: { name: "Captured", tone: "good" },
  [Attempt_Status.DECLINED]: { name: "Declined", tone: "bad" },
  [Attempt_Status.FAILED]: { name: "Failed", tone: "bad" },
  [Attempt_Status.UNKNOWN]: { name: "Unknown", tone: "warn" },
  [Attempt_Status.VOIDING]: { name: "Being given back", tone: "warn" },
  [Attempt_Status.VOIDED]: { name: "Given back" },
};

const kindNames: Readonly<Record<number, string>> = {
  [Attempt_FailureKind.HARD_DECLINE]: "hard decline",
  [Attempt_FailureKind.SOFT_DECLINE]: "soft decline",
  [Attempt_FailureKind.FRAUD]: "fraud-class decline",
  [Attempt_FailureKind.TIMEOUT]: "timeout",
  [Attempt_FailureKind.GATEWAY_ERROR]: "gateway error",
};

/** A card for each attempt, in their order. */
export function PaymentAttempts({ attempts }: { attempts: readonly PaymentAttempt[] }) {
  return (
    <section className="stack" aria-labelledby="attempts">
      <h2 id="attempts">Attempts</h2>
      <ol className="attempts">
        {attempts.map((attempt) => (
          <li className="card" key={attempt.attemptId}>
            <AttemptCard attempt={attempt} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function AttemptCard({ attempt }: { attempt: PaymentAttempt }) {
  const { sequence, gateway, status, failureKind, declineCode, gatewayCode, nextBecause } = attempt;
  const { name, tone } = statusNames[status] ?? { name: "–" };
  return (
    <>
      <h3>
        {sequence}. {nameOfGateway(gateway)}{" "}
        <span className="badge" data-tone={tone}>
          {name}
        </span>
      </h3>
      <dl className="facts">
        {kindNames[failureKind] && (
          <div>
            <dt>What went wrong</dt>
            <dd>
              {kindNames[failureKind]}
              {declineCode && `, ${declineCode.replaceAll("_", " ")}`}
            </dd>
          </div>
        )}
        {gatewayCode && (
          <div>
            <dt>The gateway’s own code</dt>
            <dd>
              <code>
                <bdi>{visible(gatewayCode)}</bdi>
              </code>
            </dd>
          </div>
        )}
        {attempt.gatewayReference && (
          <div>
            <dt>The gateway’s reference</dt>
            <dd>
              <CopiedText label="the gateway’s reference" text={attempt.gatewayReference} />
            </dd>
          </div>
        )}
        <div>
          <dt>Attempt</dt>
          <dd>
            <CopiedText label="the attempt’s id" text={attempt.attemptId} />
          </dd>
        </div>
      </dl>
      {nextBecause && <p>{nextBecause}</p>}
    </>
  );
}
