/** An endpoint: its health and its everyday actions. */

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import {
  WebhookEndpoint_DisabledReason as DisabledReason,
  WebhookEndpoint_Status as Status,
  type VerifyWebhookEndpointResponse,
  type WebhookEndpoint,
  WebhookEndpointService,
} from "../../../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Button } from "../parts/button.tsx";
import { CopiedText, visible } from "../parts/copied-text.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Moment } from "../parts/time.tsx";
import { ScopeLink, useScope } from "../scope.ts";
import { EndpointChanges } from "./webhook-changes.tsx";
import { Recover } from "./webhook-recover.tsx";

type CardProps = { endpoint: WebhookEndpoint; onChange: () => unknown };

export function EndpointCard({ endpoint, onChange }: CardProps) {
  const { role } = useScope();
  const { endpointId, url, status, eventTypes } = endpoint;
  const actions = useActions({ endpoint, onChange });
  const { test, pause, enable } = actions;
  const { missedSince, missedEvents = 0 } = enable.data ?? {};
  return (
    <section className="card" aria-labelledby={endpointId}>
      <div className="page-head">
        <div>
          <h2 id={endpointId} className="url">
            <bdi>{visible(url)}</bdi>
          </h2>
          <div className="row">
            <EndpointBadge status={status} />
            <span className="soft small">
              <CopiedText label={`the id of the endpoint ${visible(url)}`} text={endpointId} />
            </span>
          </div>
        </div>
        <Actions endpoint={endpoint} {...actions} />
      </div>
      <Refusal error={test.error ?? pause.error ?? enable.error} />
      <Health endpoint={endpoint} />
      {test.data && <TestAnswer answer={test.data} />}
      {missedSince && missedEvents > 0 && (
        <Recover endpointId={endpointId} since={timestampDate(missedSince)} expected={missedEvents} />
      )}
      <p className="small">
        {eventTypes.length === 0 ? "Receives every event." : "Receives "}
        {eventTypes.map((type) => (
          <code className="tag" key={type}>
            {type}
          </code>
        ))}
      </p>
      {includesRole(role, Role.DEVELOPER) && <EndpointChanges endpoint={endpoint} onChange={onChange} />}
    </section>
  );
}

function useActions({ endpoint: { endpointId, version, status }, onChange: onSuccess }: CardProps) {
  const { merchantId, environment } = useScope();
  const client = createClient(WebhookEndpointService, useTransport());
  const of = { merchantId, environment, endpointId };
  return {
    test: useMutation({ mutationFn: () => client.verifyWebhookEndpoint(of), onSuccess }),
    pause: useMutation({
      mutationFn: async () => {
        if (status === Status.PAUSED) await client.resumeWebhookEndpoint({ ...of, version });
        else await client.pauseWebhookEndpoint({ ...of, version });
      },
      onSuccess,
      meta: { done: status === Status.PAUSED ? "The endpoint is resumed." : "The endpoint is paused." },
    }),
    enable: useMutation({
      mutationFn: () => client.enableWebhookEndpoint({ ...of, version }),
      onSuccess,
      meta: { done: "The endpoint is enabled." },
    }),
  };
}

function Actions({ endpoint, test, pause, enable }: { endpoint: WebhookEndpoint } & ReturnType<typeof useActions>) {
  const { role } = useScope();
  const { endpointId, status } = endpoint;
  return (
    <div className="row">
      {includesRole(role, Role.DEVELOPER) && (
        <>
          {status !== Status.DISABLED && (
            <Button
              {...(status === Status.PENDING && { kind: "main" })}
              isPending={test.isPending}
              onPress={() => test.mutate()}
            >
              Send a test event
            </Button>
          )}
          {(status === Status.ENABLED || status === Status.PAUSED) && (
            <Button isPending={pause.isPending} onPress={() => pause.mutate()}>
              {status === Status.PAUSED ? "Resume" : "Pause"}
            </Button>
          )}
          {status === Status.DISABLED && (
            <Button kind="main" isPending={enable.isPending} onPress={() => enable.mutate()}>
              Enable
            </Button>
          )}
        </>
      )}
      <ScopeLink to="./webhooks/deliveries" search={{ endpoint: endpointId }}>
        Deliveries
      </ScopeLink>
    </div>
  );
}

const badges: Readonly<Record<number, { name: string; tone: "good" | "warn" | "bad" }>> = {
  [Status.PENDING]: { name: "Not verified", tone: "warn" },
  [Status.ENABLED]: { name: "Enabled", tone: "good" },
  [Status.PAUSED]: { name: "Paused", tone: "warn" },
  [Status.DISABLED]: { name: "Disabled", tone: "bad" },
};

function EndpointBadge({ status }: { status: Status }) {
  const { name, tone } = badges[status] ?? { name: "–", tone: "warn" };
  return (
    <span className="badge" data-tone={tone}>
      {name}
    </span>
  );
}

const reasons: Readonly<Record<number, string>> = {
  [DisabledReason.GONE]: "it answered 410 (Gone)",
  [DisabledReason.FAILING]: "no delivery has succeeded for five days",
  [DisabledReason.OWNER]: "a member of your team disabled it",
};

function Health({ endpoint }: { endpoint: WebhookEndpoint }) {
  const { status, verifiedAt, failingSince, disabledAt, disabledReason = 0, overlapUntil } = endpoint;
  return (
    <>
      {status === Status.PENDING && (
        <p className="banner">No events are posted yet. Send a test event: a 2xx response verifies this endpoint.</p>
      )}
      {status === Status.DISABLED && (
        <p className="banner" data-tone="bad">
          Disabled since <Moment at={disabledAt} />: {reasons[disabledReason] ?? "its URL was changed"}. Events that
          occur meanwhile can be sent after you enable it.
        </p>
      )}
      {status === Status.PAUSED && (
        <p className="banner">Events are queued, and sent in order when you resume the endpoint.</p>
      )}
      {status !== Status.DISABLED && failingSince && (
        <p className="banner" data-tone="bad">
          No delivery has succeeded since <Moment at={failingSince} />. After five days and at least ten delivery
          attempts without success, the endpoint is disabled.
        </p>
      )}
      {status === Status.ENABLED && !failingSince && (
        <p className="small">
          Receiving events. Verified <Moment at={verifiedAt} />.
        </p>
      )}
      {overlapUntil && (
        <p className="small">
          Webhooks are also signed with the previous secret until <Moment at={overlapUntil} />.
        </p>
      )}
    </>
  );
}

function TestAnswer({ answer }: { answer: VerifyWebhookEndpointResponse }) {
  const said =
    answer.answer.case === "statusCode"
      ? `Your server answered ${answer.answer.value}`
      : `No answer (${String(answer.answer.value ?? "unknown").replaceAll("_", " ")})`;
  return (
    <p className="banner" role="status" data-tone={answer.verified ? "good" : "bad"}>
      {said} after {answer.durationMs} ms.{" "}
      {answer.verified ? "The endpoint is verified." : "Verification requires a 2xx status."}
    </p>
  );
}
