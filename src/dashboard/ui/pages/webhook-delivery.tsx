/** An event at an endpoint: its state, every delivery attempt with its request and response, and a manual replay. */

import { createClient } from "@connectrpc/connect";
import { useQuery, useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import {
  type ReplayWebhookDeliveryResponse,
  WebhookDelivery_Status as Status,
  type WebhookAttempt,
  type WebhookDelivery,
  WebhookDeliveryService,
} from "../../../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Button } from "../parts/button.tsx";
import { CopiedText, CopyButton, visible } from "../parts/copied-text.tsx";
import { DeliveryState, isTestEvent } from "../parts/delivery-state.tsx";
import { Fact } from "../parts/fact.tsx";
import { RecordTable } from "../parts/record-table.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { ScopeLink, useScope } from "../scope.ts";
import { liveEveryMs, WebhookTabs } from "./webhook-tabs.tsx";

export function WebhookDeliveryPage() {
  const { merchantId, environment, role } = useScope();
  const { endpointId, eventId } = useParams({
    from: "/signed-in/$environment/$merchantId/webhooks/deliveries/$endpointId/$eventId",
  });
  const key = { merchantId, environment, endpointId, eventId };
  const { data, error, refetch } = useQuery(WebhookDeliveryService.method.getWebhookDelivery, key, {
    refetchInterval: ({ state }) => (state.data?.delivery?.status === Status.PENDING ? liveEveryMs : false),
  });
  const client = createClient(WebhookDeliveryService, useTransport());
  const replay = useMutation({ mutationFn: () => client.replayWebhookDelivery(key), onSuccess: () => refetch() });
  return (
    <>
      <WebhookTabs />
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The delivery" />}
      {data?.delivery && (
        <>
          <section className="card" aria-labelledby="delivery">
            <div className="page-head">
              <h2 id="delivery" className="url">
                {data.delivery.type}
              </h2>
              {includesRole(role, Role.DEVELOPER) && !isTestEvent(data.delivery) && (
                <Button isPending={replay.isPending} onPress={() => replay.mutate()}>
                  Resend
                </Button>
              )}
            </div>
            <Refusal error={replay.error} />
            {replay.data && <Replayed answer={replay.data} />}
            <Facts delivery={data.delivery} />
          </section>
          <Attempts log={data.log} />
          {data.body && (
            <details className="card">
              <summary>Raw request</summary>
              <pre className="excerpt">{visibleLines(data.body)}</pre>
            </details>
          )}
        </>
      )}
    </>
  );
}

function Facts({ delivery }: { delivery: WebhookDelivery }) {
  const { eventId, endpointId, sessionId, orderRef, createdAt, endedAt, scheduledAttempts } = delivery;
  return (
    <dl className="facts">
      <Fact name="State">
        <DeliveryState delivery={delivery} />
      </Fact>
      <Fact name="Event">
        <CopiedText label="the event’s id" text={eventId} />
      </Fact>
      <Fact name="Endpoint">
        <ScopeLink to="./webhooks/deliveries" search={{ endpoint: endpointId }}>
          <span className="mono">{endpointId}</span>
        </ScopeLink>{" "}
        <CopyButton label="the endpoint’s id" text={endpointId} />
      </Fact>
      {!isTestEvent(delivery) && (
        <Fact name="Payment">
          <ScopeLink to="./payments/$sessionId" params={{ sessionId }}>
            <bdi>{visible(orderRef)}</bdi>
          </ScopeLink>
          <div className="soft">
            <CopiedText label="the session’s id" text={sessionId} />
          </div>
        </Fact>
      )}
      <Fact name="Occurred">
        <Moment at={createdAt} />
      </Fact>
      {endedAt && (
        <Fact name="Ended">
          <Moment at={endedAt} />
        </Fact>
      )}
      <Fact name="Scheduled attempts">{scheduledAttempts}</Fact>
    </dl>
  );
}

function Replayed({ answer: { accepted, attempt } }: { answer: ReplayWebhookDeliveryResponse }) {
  return (
    <p className="banner" role="status" data-tone={accepted ? "good" : "bad"}>
      {accepted ? "Your server accepted it: " : "Your server did not accept it: "}
      {attempt && `${answerOf(attempt)} after ${attempt.durationMs} ms.`}
    </p>
  );
}

const attemptColumns = ["When", "Response", "Duration", "Response body"].map((name) => ({ name }));

function Attempts({ log }: { log: readonly WebhookAttempt[] }) {
  if (log.length === 0) {
    return (
      <section className="card" aria-labelledby="attempts">
        <h2 id="attempts">Delivery attempts</h2>
        <p>No delivery attempts yet.</p>
      </section>
    );
  }
  return (
    <section className="stack" aria-labelledby="attempts">
      <h2 id="attempts">Delivery attempts</h2>
      <RecordTable
        label="Delivery attempts"
        columns={attemptColumns}
        rows={log.toReversed().map((attempt, index) => ({
          key: String(log.length - index),
          cells: [
            <Moment key="when" at={attempt.startedAt} />,
            <span key="response" className="badge" data-tone={isGood(attempt) ? "good" : "bad"}>
              {answerOf(attempt)}
            </span>,
            `${attempt.durationMs} ms`,
            <div key="body">
              {attempt.answerExcerpt === "" ? (
                <span className="soft">Empty</span>
              ) : (
                <pre className="excerpt">{visibleLines(attempt.answerExcerpt)}</pre>
              )}
            </div>,
          ],
        }))}
      />
    </section>
  );
}

/** Keeps line breaks and shows every other invisible character as its code. */
function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n");
}

function isGood({ answer }: WebhookAttempt): boolean {
  return answer.case === "statusCode" && answer.value >= 200 && answer.value < 300;
}

function answerOf({ answer }: WebhookAttempt): string {
  if (answer.case === "statusCode") return String(answer.value);
  return `No answer: ${(answer.value ?? "unknown").replaceAll("_", " ")}`;
}
