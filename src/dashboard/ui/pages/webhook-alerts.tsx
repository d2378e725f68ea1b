/** Alerts about a merchant's failing endpoints, until a person acknowledges them. */

import { createClient } from "@connectrpc/connect";
import { useQuery, useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import {
  WebhookAlert_Kind as Kind,
  type WebhookAlert,
  WebhookAlertService,
} from "../../../../gen/dashboard/v1/webhook_alerts_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Button } from "../parts/button.tsx";
import { visible } from "../parts/copied-text.tsx";
import { News } from "../parts/news.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";
import { liveEveryMs, WebhookTabs } from "./webhook-tabs.tsx";

const rowsShown = 100;
const what: [string, string] = ["new alert", "new alerts"];

export function WebhookAlertsPage() {
  const { merchantId, environment, environmentName } = useScope();
  const [includeAcknowledged, setIncluded] = useState(false);
  const { data, error, refetch } = useQuery(
    WebhookAlertService.method.listWebhookAlerts,
    { merchantId, environment, includeAcknowledged, pageSize: rowsShown },
    { refetchInterval: liveEveryMs },
  );
  const alerts = data?.alerts ?? [];
  return (
    <>
      <WebhookTabs />
      <label className="tick">
        <input type="checkbox" checked={includeAcknowledged} onChange={(event) => setIncluded(event.target.checked)} />
        Show acknowledged alerts
      </label>
      <News
        list={`${environmentName} ${includeAcknowledged} ${data !== undefined}`}
        rows={alerts.map(({ alertId }) => alertId)}
        what={what}
      />
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The list of alerts" />}
      {data && alerts.length === 0 && (
        <Empty title="No alerts">
          <p>
            Alerts appear here when an endpoint has failed for a day or for three days, and when it is disabled. If the
            operator has set up a mail server, they are also mailed to the addresses in your settings.
          </p>
        </Empty>
      )}
      {alerts.map((alert) => (
        <AlertCard key={alert.alertId} alert={alert} onChange={refetch} />
      ))}
    </>
  );
}

const titles: Readonly<Record<number, string>> = {
  [Kind.FAILING_24_HOURS]: "No successful delivery for a day",
  [Kind.FAILING_72_HOURS]: "No successful delivery for three days",
  [Kind.DISABLED_FAILING]: "Disabled: no successful delivery for five days",
  [Kind.DISABLED_GONE]: "Disabled: it answered 410",
};

function AlertCard({ alert, onChange }: { alert: WebhookAlert; onChange: () => unknown }) {
  const { merchantId, environment, role } = useScope();
  const { alertId, kind, url, failingSince, statusCode, noAnswer, over, createdAt, acknowledgedAt } = alert;
  const client = createClient(WebhookAlertService, useTransport());
  const acknowledge = useMutation({
    mutationFn: () => client.acknowledgeWebhookAlert({ merchantId, environment, alertId }),
    onSuccess: onChange,
    meta: { done: "The alert is acknowledged." },
  });
  const isDisabled = kind === Kind.DISABLED_FAILING || kind === Kind.DISABLED_GONE;
  return (
    <section className="card" aria-labelledby={alertId}>
      <div className="page-head">
        <div>
          <h2 id={alertId} className="url">
            <bdi>{visible(url)}</bdi>
          </h2>
          <div className="row">
            <span className="badge" data-tone={over ? undefined : isDisabled ? "bad" : "warn"}>
              {titles[kind] ?? "Alert"}
            </span>
            {over && (
              <span className="badge" data-tone="good">
                Resolved
              </span>
            )}
          </div>
        </div>
        {includesRole(role, Role.DEVELOPER) && !acknowledgedAt && (
          <Button
            isPending={acknowledge.isPending}
            onPress={() => acknowledge.mutate()}
            aria-label={`Acknowledge: ${url}`}
          >
            Acknowledge
          </Button>
        )}
      </div>
      <Refusal error={acknowledge.error} />
      <p className="small">
        Alerted <Moment at={createdAt} />, failing since <Moment at={failingSince} />.{" "}
        {statusCode !== undefined && `Last response: ${statusCode}.`}
        {noAnswer !== undefined && `No answer: ${noAnswer.replaceAll("_", " ")}.`}
      </p>
      {acknowledgedAt && (
        <p className="small">
          Acknowledged <Moment at={acknowledgedAt} /> by <bdi>{alert.acknowledgedBy}</bdi>.
        </p>
      )}
    </section>
  );
}
