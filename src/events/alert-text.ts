/** Writes the mail of an endpoint alert: the fault, what happens next, and what to do. Plain text, no secret. */
import { encodeId } from "../platform/ids.ts";
import type { AlertKind, EndpointAlert } from "./endpoint-alerts.ts";

/** The content of an alert. `missedSince`: time of the oldest event that the endpoint has not accepted. */
export type DescribedAlert = Pick<
  EndpointAlert,
  "id" | "merchantId" | "endpointId" | "url" | "kind" | "failingSince" | "statusCode" | "noAnswer"
> & { readonly missedSince: Date };

const headlines: Readonly<Record<AlertKind, string>> = {
  FAILING_24_HOURS: "has been failing for 24 hours",
  FAILING_72_HOURS: "has been failing for 72 hours",
  DISABLED_FAILING: "was disabled after 5 days of failures",
  DISABLED_GONE: "was disabled: it answered 410",
};

const stillTried =
  "Each event is retried by its schedule, and kept when that ends. After 5 days and at least 10 delivery attempts without a 2xx response, the endpoint is disabled.";
const stopped = "No more events are posted to it. They are kept, and you can send them after you enable it again.";

/** Writes subject and text. Only the host of the URL is shown: a path or a query may hold a merchant's own secret. */
export function writeAlert(alert: DescribedAlert, environmentName: string): { subject: string; text: string } {
  const endpoint = encodeId("we", alert.endpointId);
  const scope = `--merchant ${encodeId("mer", alert.merchantId)} --environment ${environmentName}`;
  const isDisabled = alert.kind === "DISABLED_FAILING" || alert.kind === "DISABLED_GONE";
  const since = alert.failingSince.toISOString();
  const recover = `switchyard delivery recover ${endpoint} --since ${alert.missedSince.toISOString()} ${scope}`;
  const steps = [
    "See what failed and why: Webhooks > Deliveries.",
    "Fix the receiver: it must answer 2xx within 15 seconds.",
    ...(isDisabled ? ["Enable the endpoint: Webhooks > Endpoints."] : []),
    "Resend the events that it missed: Webhooks > Endpoints.",
    "Acknowledge this alert: Webhooks > Alerts.",
  ];
  const commands = [
    `switchyard delivery list --endpoint ${endpoint} ${scope}`,
    ...(isDisabled ? [`switchyard endpoint enable ${endpoint} ${scope}`] : []),
    recover,
    `switchyard alert acknowledge ${encodeId("ntc", alert.id)} ${scope}`,
  ];
  const lines = [
    `The webhook endpoint ${endpoint} at ${new URL(alert.url).host} (${environmentName} environment) ${headlines[alert.kind]}.`,
    "",
    `Failing since: ${since}`,
    `Last answer: ${alert.statusCode === null ? (alert.noAnswer ?? "not known") : `HTTP ${alert.statusCode}`}`,
    "",
    isDisabled ? stopped : stillTried,
    "",
    "What to do, on the dashboard",
    ...steps.map((step, index) => `${index + 1}. ${step}`),
    "",
    "The same by command, for operators",
    ...commands,
    "",
  ];
  return {
    subject: `[${environmentName}] Webhook endpoint ${endpoint} ${headlines[alert.kind]}`,
    text: lines.join("\n"),
  };
}
