/**
 * Writes the messages of alerts: what happened, since when, what happens next, and what to do. Plain text, no secret, no
 * card data.
 */

import { unreachable } from "../platform/errors.ts";
import { type EndpointId, encodeId, type MerchantId } from "../platform/ids.ts";
import type { MatterKind } from "./alerts.ts";
import type { AlertKind, EndpointAlert } from "./endpoint-alerts.ts";

const headlines: Readonly<Record<AlertKind, string>> = {
  FAILING_24_HOURS: "has been failing for 24 hours",
  FAILING_72_HOURS: "has been failing for 72 hours",
  DISABLED_FAILING: "was disabled after 5 days of failures",
  DISABLED_GONE: "was disabled: it answered 410",
};

const stillTried =
  "Each event is retried by its schedule, and kept when that ends. After 5 days and at least 10 delivery attempts without a 2xx response, the endpoint is disabled.";
const stopped = "No more events are posted to it. They are kept, and you can send them after you enable it again.";

/** Writes the mail of an endpoint alert. Only the host of the URL is shown: a path or a query may hold a merchant's own secret. */
function writeFailing(
  alert: DescribedMatter & { readonly kind: AlertKind },
  { endpointId, url, missedSince }: Failing,
  environmentName: string,
): { subject: string; text: string } {
  const endpoint = encodeId("we", endpointId);
  const scope = `--merchant ${encodeId("mer", alert.merchantId)} --environment ${environmentName}`;
  const of = `'{"endpointId": "${endpoint}"}'`;
  const isDisabled = alert.kind === "DISABLED_FAILING" || alert.kind === "DISABLED_GONE";
  const since = alert.since.toISOString();
  const recover = `switchyard rpc WebhookDeliveryService/RecoverWebhookDeliveries '{"endpointId": "${endpoint}", "since": "${missedSince.toISOString()}"}' --all-pages ${scope}`;
  const steps = [
    "See what failed and why: Webhooks > Deliveries.",
    "Fix the receiver: it must answer 2xx within 15 seconds.",
    ...(isDisabled ? ["Enable the endpoint: Webhooks > Endpoints."] : []),
    "Resend the events that it missed: Webhooks > Endpoints.",
    "Acknowledge this alert: Webhooks > Alerts.",
  ];
  const commands = [
    `switchyard rpc WebhookDeliveryService/ListWebhookDeliveries ${of} ${scope}`,
    ...(isDisabled ? [`switchyard rpc WebhookEndpointService/EnableWebhookEndpoint ${of} ${scope}`] : []),
    recover,
    `switchyard rpc WebhookAlertService/AcknowledgeWebhookAlert '{"alertId": "${encodeId("ntc", alert.id)}"}' ${scope}`,
  ];
  const lines = [
    `The webhook endpoint ${endpoint} at ${new URL(url).host} (${environmentName} environment) ${headlines[alert.kind]}.`,
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

export type DescribedMatter = Pick<EndpointAlert, "id" | "merchantId" | "statusCode" | "noAnswer"> & {
  readonly kind: AlertKind | MatterKind;
  readonly gateway: string | null;
  readonly endpointId: EndpointId | null;
  readonly url: string | null;
  /** The event in sentences; null for an endpoint that fails. */
  readonly detail: string | null;
  readonly since: Date;
  /** Time of the oldest event that the endpoint has not accepted; null unless it fails. */
  readonly missedSince: Date | null;
  /** The end of the matter; null in the alert's beginning. */
  readonly overAt: Date | null;
};

/** A message, as a mail and as a text for a chat. The id is the same in each repeat. */
export type AlertMessage = {
  readonly id: string;
  readonly subject: string;
  readonly text: string;
  readonly chatText: string;
};

type Sender = { readonly environmentName: string; readonly dashboardOrigin?: string | undefined };

export type NameGateways = (sentence: string) => string;

type Failing = { readonly endpointId: EndpointId; readonly url: string; readonly missedSince: Date };

function isFailing(alert: DescribedMatter): alert is DescribedMatter & { readonly kind: AlertKind } {
  return alert.kind in headlines;
}

/** Writes the message of an alert's beginning or, once it is over, of its end. */
export function writeMessage(
  alert: DescribedMatter,
  sender: Sender & { readonly nameGatewaysIn: NameGateways },
): AlertMessage {
  const { environmentName, nameGatewaysIn } = sender;
  const id = encodeId("ntc", alert.id);
  const headline = nameGatewaysIn(headlineOf(alert));
  const link = linkTo(alert, sender);
  const merchant = encodeId("mer", alert.merchantId);
  const foot = `Merchant ${merchant}, ${environmentName} environment.`;
  if (alert.overAt !== null) {
    const numbers = alert.kind === "CARD_TESTING" ? `${alert.detail} ` : "";
    const over = `${numbers}It began at ${minuteOf(alert.since)} and was over at ${minuteOf(alert.overAt)}. There is nothing left to do.`;
    return {
      id: `${id}-over`,
      subject: `[${environmentName}] Over: ${headline}`,
      text: lines([`${headline}: this is over.`, over, link, foot]),
      chatText: `[${environmentName}] Over: ${headline}. ${over} ${link} (${merchant})`,
    };
  }
  const subject = `[${environmentName}] ${headline}`;
  const detail = nameGatewaysIn(alert.detail ?? describeFailing(alert));
  const since = `Since ${minuteOf(alert.since)}.`;
  const chatText = `${subject}. ${detail} ${since} What to do: ${stepOf(alert.kind)} ${link} (${merchant})`;
  const { endpointId, url, missedSince } = alert;
  if (isFailing(alert) && endpointId !== null && url !== null && missedSince !== null) {
    const mail = writeFailing(alert, { endpointId, url, missedSince }, environmentName);
    return { id, subject: mail.subject, text: `${mail.text}\n${link}\n`, chatText };
  }
  const text = lines([`${headline}.`, detail, since, `What to do: ${stepOf(alert.kind)}`, link, foot]);
  return { id, subject, text, chatText };
}

export function writeTestMessage({
  id,
  merchantId,
  ...sender
}: Sender & { readonly id: string; readonly merchantId: MerchantId }): AlertMessage {
  const { environmentName } = sender;
  const merchant = encodeId("mer", merchantId);
  const link = pageOf(sender, merchantId, "settings");
  const said = "This is a test: nothing happened. Alerts of this environment arrive here.";
  return {
    id,
    subject: `[${environmentName}] Test alert`,
    text: lines(["This is a test alert.", said, link, `Merchant ${merchant}, ${environmentName} environment.`]),
    chatText: `[${environmentName}] Test alert. ${said} ${link} (${merchant})`,
  };
}

const lines = (paragraphs: readonly string[]) => `${paragraphs.join("\n\n")}\n`;
const minuteOf = (at: Date) => `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;

function headlineOf({ kind, gateway, endpointId }: DescribedMatter): string {
  const named = gateway ?? "A gateway";
  const endpoint = endpointId === null ? "A webhook endpoint" : `Webhook endpoint ${encodeId("we", endpointId)}`;
  switch (kind) {
    case "GATEWAY_UNHEALTHY":
      return `${named} is unhealthy`;
    case "CREDENTIALS_REFUSED":
      return `${named} refuses credentials`;
    case "APPROVAL_RATE_LOW":
      return `The approval rate at ${named} is low`;
    case "GATEWAY_UNVERIFIED":
      return `Credentials of ${named} are not verified`;
    case "ENDPOINT_UNVERIFIED":
      return `${endpoint} is not verified`;
    case "HOLDS_EXPIRING":
      return "Holds are about to end";
    case "PAID_MORE_THAN_ONCE":
      return "An order was paid more than once";
    case "CARD_TESTING":
      return "Payments are braked: many cards are declined";
    case "AGREEMENTS_UNCHARGEABLE":
      return "No gateway can charge an agreement";
    case "RENEWALS_STOPPED":
      return `Many renewals are stopped at ${named}`;
    case "CARDS_NOT_ERASED":
      return "Deleted cards are not erased yet";
    case "APPLE_PAY_ENDING":
      return "A certificate of Apple Pay ends";
    case "DISPUTE_OPENED":
      return `A payment is disputed at ${named}`;
    case "DISPUTE_DUE":
      return `A dispute at ${named} must be answered within 72 hours`;
    case "DISPUTES_UNREADABLE":
      return `The disputes at ${named} cannot be read`;
    case "SETTLEMENT_OVERDUE":
      return `Payments at ${named} are not paid out`;
    case "PAYOUT_REMAINDER":
      return `A payout of ${named} does not add up`;
    case "SETTLEMENT_UNREADABLE":
      return `The payouts of ${named} cannot be read`;
    case "FAILING_24_HOURS":
    case "FAILING_72_HOURS":
    case "DISABLED_FAILING":
    case "DISABLED_GONE":
      return `${endpoint} ${headlines[kind]}`;
    default:
      return unreachable(kind);
  }
}

/** Describes an endpoint that fails by its host and its last answer. */
function describeFailing({ kind, url, statusCode, noAnswer }: DescribedMatter): string {
  const answer = statusCode === null ? (noAnswer ?? "not known") : `HTTP ${statusCode}`;
  const host = url === null ? "" : `${new URL(url).host}: `;
  const isDisabled = kind === "DISABLED_FAILING" || kind === "DISABLED_GONE";
  return `${host}last answer ${answer}. ${isDisabled ? stopped : stillTried}`;
}

function stepOf(kind: DescribedMatter["kind"]): string {
  switch (kind) {
    case "GATEWAY_UNHEALTHY":
      return "See the answers on the page Gateways. If the gateway reports an outage, pause it there: payments then go to the next gateway of their plan.";
    case "CREDENTIALS_REFUSED":
      return "Look the code up at the gateway: a key was revoked, or the account is restricted or lacks a permission. Enter new credentials on the page Gateways, or pause the gateway there.";
    case "APPROVAL_RATE_LOW":
      return "Compare the decline reasons on the page Analytics, and ask the gateway about one that is new or more frequent.";
    case "GATEWAY_UNVERIFIED":
      return "Verify the credentials on the page Gateways, or enter others.";
    case "ENDPOINT_UNVERIFIED":
      return "Verify the endpoint on the page Webhooks. Its events are kept and are sent then.";
    case "HOLDS_EXPIRING":
      return "Capture or cancel these payments. A payment that is neither ends as Declined, and its hold is released.";
    case "PAID_MORE_THAN_ONCE":
      return "Compare the payments, and refund all but one. To refuse a second payment of an order, see the page Settings.";
    case "CARD_TESTING":
      return "See the declined payments. If they are real customers’, hold braking off for a time on the page Settings.";
    case "AGREEMENTS_UNCHARGEABLE":
      return "Search for the agreement on the page Payments and see why each gateway cannot charge it. Resume or connect a gateway that can, or ask the customer to pay once more with a card that is stored.";
    case "RENEWALS_STOPPED":
      return "Compare the declined renewals on the page Payments, and ask the gateway: an account that is set up wrongly makes banks stop cards that are well. Charge nothing more there until you know. An operator can lift the stop of a card.";
    case "CARDS_NOT_ERASED":
      return "Ask your operator why the vault does not answer. It is asked again until it does, and nobody can pay with these cards.";
    case "APPLE_PAY_ENDING":
      return "On the page Wallets, make a new key of this kind, have Apple issue its certificate, and upload it. The page replaces the key that ends.";
    case "DISPUTE_OPENED":
    case "DISPUTE_DUE":
      return "Stop the shipment, and answer the dispute on the gateway’s own pages.";
    case "DISPUTES_UNREADABLE":
      return "Give the key or the app the right to read disputes, or enter other credentials on the page Gateways. Until then disputes are seen at the gateway only.";
    case "SETTLEMENT_OVERDUE":
      return "See the open payments on the page Settlement, and ask the gateway for the oldest of them.";
    case "PAYOUT_REMAINDER":
      return "See the lines of the payout on the page Payouts, and ask the gateway what the rest is.";
    case "SETTLEMENT_UNREADABLE":
      return "Give the key or the app the right to read payouts, or enter other credentials on the page Gateways. Until then payouts are seen at the gateway only.";
    case "FAILING_24_HOURS":
    case "FAILING_72_HOURS":
      return "Correct the receiver: it must answer 2xx within 15 seconds.";
    case "DISABLED_FAILING":
    case "DISABLED_GONE":
      return "Correct the receiver, enable the endpoint on the page Webhooks, and send the events that it missed.";
    default:
      return unreachable(kind);
  }
}

function linkTo({ kind, merchantId, gateway }: DescribedMatter, sender: Sender): string {
  switch (kind) {
    case "GATEWAY_UNHEALTHY":
    case "CREDENTIALS_REFUSED":
    case "GATEWAY_UNVERIFIED":
      return pageOf(sender, merchantId, "gateways");
    case "APPROVAL_RATE_LOW":
      return pageOf(sender, merchantId, `analytics?gateway=${gateway}`);
    case "HOLDS_EXPIRING":
      return pageOf(sender, merchantId, "payments?status=held");
    case "PAID_MORE_THAN_ONCE":
      return pageOf(sender, merchantId, "");
    case "CARD_TESTING":
    case "RENEWALS_STOPPED":
      return pageOf(sender, merchantId, "payments?status=declined");
    case "DISPUTE_OPENED":
    case "DISPUTE_DUE":
      return pageOf(sender, merchantId, "payments?dispute=needs_response");
    case "AGREEMENTS_UNCHARGEABLE":
    case "DISPUTES_UNREADABLE":
    case "SETTLEMENT_UNREADABLE":
      return pageOf(sender, merchantId, "gateways");
    case "SETTLEMENT_OVERDUE":
      return pageOf(sender, merchantId, "settlement");
    case "PAYOUT_REMAINDER":
      return pageOf(sender, merchantId, "payouts");
    case "CARDS_NOT_ERASED":
      return pageOf(sender, merchantId, "");
    case "APPLE_PAY_ENDING":
      return pageOf(sender, merchantId, "wallets");
    case "ENDPOINT_UNVERIFIED":
    case "FAILING_24_HOURS":
    case "FAILING_72_HOURS":
    case "DISABLED_FAILING":
    case "DISABLED_GONE":
      return pageOf(sender, merchantId, "webhooks");
    default:
      return unreachable(kind);
  }
}

/** Returns the address of a merchant's page, or where to look for it if the installation has no dashboard. */
function pageOf({ environmentName, dashboardOrigin }: Sender, merchantId: MerchantId, page: string): string {
  if (dashboardOrigin === undefined) return "Your operator can see it on the command line.";
  return `${dashboardOrigin}/${environmentName}/${encodeId("mer", merchantId)}/${page}`;
}
