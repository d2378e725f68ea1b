/** The steps of setting up an environment, done and remaining. */
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { Environment } from "../../../../gen/dashboard/v1/environment_pb.ts";
import { HomeService, SetUpStep } from "../../../../gen/dashboard/v1/home_pb.ts";
import { Badge } from "../parts/badge.tsx";
import { useScope } from "../scope.ts";

type Step = {
  readonly step: SetUpStep;
  readonly done: string;
  readonly missing: string;
  readonly to: `/$environment/$merchantId/${"gateways" | "routing" | "settings" | "webhooks"}`;
  readonly action: string;
};

// The steps in the order in which a merchant takes them.
const steps: readonly Step[] = [
  {
    step: SetUpStep.GATEWAY,
    done: "A gateway is connected and verified.",
    missing: "No gateway is connected and verified. Payments cannot be routed.",
    to: "/$environment/$merchantId/gateways",
    action: "Connect a gateway",
  },
  {
    step: SetUpStep.ROUTING_RULE,
    done: "The routing rule contains a verified gateway.",
    missing: "The routing rule contains no verified gateway. Payments fail.",
    to: "/$environment/$merchantId/routing",
    action: "Set up routing",
  },
  {
    step: SetUpStep.CHECKOUT_ORIGIN,
    done: "A checkout origin is registered.",
    missing: "No checkout origin is registered. In live, the card form loads on registered origins only.",
    to: "/$environment/$merchantId/settings",
    action: "Add an origin",
  },
  {
    step: SetUpStep.WEBHOOK_ENDPOINT,
    done: "A webhook endpoint is verified.",
    missing: "No webhook endpoint is verified. Your backend receives no outcomes.",
    to: "/$environment/$merchantId/webhooks",
    action: "Register an endpoint",
  },
];

const stepsOf = (environmentName: "test" | "live") =>
  steps.filter(({ step }) => environmentName === "live" || step !== SetUpStep.CHECKOUT_ORIGIN);

export function SetUp({ missing }: { missing: readonly SetUpStep[] }) {
  const { environmentName } = useScope();
  return (
    <Checklist
      isOpen
      environmentName={environmentName}
      title={`Set up ${environmentName}`}
      explanation={
        environmentName === "live"
          ? "Live is not ready: it cannot yet accept payments and report them."
          : "Until these steps are done, test cannot accept payments and report them."
      }
      missing={missing}
    />
  );
}

/** The checklist of live on the page of test, until live is ready. Nothing where the installation serves no live. */
export function GoingLive() {
  const { merchantId } = useScope();
  const { data } = useQuery(
    HomeService.method.getHome,
    { merchantId, environment: Environment.LIVE },
    { retry: false, staleTime: 60_000 },
  );
  if (!data || data.missing.length === 0) return null;
  return (
    <Checklist
      environmentName="live"
      title="Going live"
      explanation="Test is set up. These steps are left before live can accept payments and report them."
      missing={data.missing}
    />
  );
}

function Checklist(props: {
  environmentName: "test" | "live";
  title: string;
  explanation: string;
  missing: readonly SetUpStep[];
  isOpen?: boolean;
}) {
  const { environmentName: environment, title, explanation, missing, isOpen } = props;
  const { merchantId } = useScope();
  const listed = stepsOf(environment);
  const isDone = (step: SetUpStep) => !missing.includes(step);
  const done = listed.filter(({ step }) => isDone(step)).length;
  return (
    <section className="card alerts checklist" aria-labelledby="set-up">
      <details open={isOpen}>
        <summary>
          <h2 id="set-up">{title}</h2>
          <progress value={done} max={listed.length} aria-labelledby="set-up" />
          <span className="soft small">
            {done} of {listed.length} done
          </span>
        </summary>
        <p className="soft">
          {explanation}
          {environment === "live" && (
            <>
              {" To begin with the configuration of test, open "}
              <Link to="/$environment/$merchantId/copy-to-live" params={{ environment, merchantId }}>
                Copy test to live
              </Link>
              .
            </>
          )}
        </p>
        <ol>
          {listed.map(({ step, done: whenDone, missing: left, to, action }) => (
            <li key={step}>
              <Badge tone={isDone(step) ? "good" : "warn"}>{isDone(step) ? "Done" : "Missing"}</Badge>
              <p>{isDone(step) ? whenDone : left}</p>
              {!isDone(step) && (
                <Link to={to} params={{ environment, merchantId }}>
                  {action}
                </Link>
              )}
            </li>
          ))}
        </ol>
      </details>
    </section>
  );
}
