/** What an owner reads in the mail of a notice: what is wrong, what happens next, what to do. Plain text, no secret. */
import { encodeId } from "../platform/ids.ts";
import type { EndpointNotice, NoticeKind } from "./endpoint-notices.ts";

/** What is told of a notice; `missedSince`: when the oldest event was told that the endpoint has not taken. */
export type ToldNotice = Pick<
  EndpointNotice,
  "id" | "merchantId" | "endpointId" | "url" | "kind" | "failingSince" | "statusCode" | "noAnswer"
> & { readonly missedSince: Date };

const headlines: Readonly<Record<NoticeKind, string>> = {
  FAILING_24_HOURS: "has been failing for 24 hours",
  FAILING_72_HOURS: "has been failing for 72 hours",
  DISABLED_FAILING: "was disabled after 5 days of failures",
  DISABLED_GONE: "was disabled: it answered 410",
};

const stillTried =
  "Each event is tried again by its schedule, and kept when that ends. After 5 days without a 2xx answer the endpoint is disabled.";
const stopped = "Nothing more is posted to it. Events are kept, and you can have them sent once it is enabled again.";

/** Subject and text. Of the URL only the host is told: a path or a query may hold a merchant's own secret. */
export function writeNotice(notice: ToldNotice, environmentName: string): { subject: string; text: string } {
  const endpoint = encodeId("we", notice.endpointId);
  const scope = `--merchant ${encodeId("mer", notice.merchantId)} --environment ${environmentName}`;
  const isDisabled = notice.kind === "DISABLED_FAILING" || notice.kind === "DISABLED_GONE";
  const since = notice.failingSince.toISOString();
  const recover = `switchyard delivery recover ${endpoint} --since ${notice.missedSince.toISOString()} ${scope}`;
  const steps = [
    `See what failed and why: switchyard delivery list --endpoint ${endpoint} ${scope}`,
    "Put the receiver in order: it has to answer 2xx within 15 seconds.",
    ...(isDisabled ? [`Enable the endpoint: switchyard endpoint enable ${endpoint} ${scope}`] : []),
    `Have what it missed sent again: ${recover}`,
    `Take this notice from the list: switchyard notice acknowledge ${encodeId("ntc", notice.id)} ${scope}`,
  ];
  const lines = [
    `The webhook endpoint ${endpoint} at ${new URL(notice.url).host} (${environmentName} environment) ${headlines[notice.kind]}.`,
    "",
    `Failing since: ${since}`,
    `Last answer: ${notice.statusCode === null ? (notice.noAnswer ?? "not known") : `HTTP ${notice.statusCode}`}`,
    "",
    isDisabled ? stopped : stillTried,
    "",
    "What to do",
    ...steps.map((step, index) => `${index + 1}. ${step}`),
    "",
  ];
  return {
    subject: `[${environmentName}] Webhook endpoint ${endpoint} ${headlines[notice.kind]}`,
    text: lines.join("\n"),
  };
}
