/** The webhooks as the OpenAPI document describes them: one operation for each type of event, which a merchant implements. */
import type { EventType } from "../../events/outbox.ts";
import type { Schema } from "../../transcoder/openapi/value-schema.ts";
import { personalFields } from "../session-messages.ts";
import { sessionResponse } from "./api-examples.ts";

export const webhookTag = {
  name: "Webhooks",
  description:
    "Requests that Switchyard posts to your endpoint. Verify the signature, store `id`, and answer with a 2xx status within 15 seconds. The [webhook guide](/docs/webhooks) has code, retries and order.",
};

type WebhookType = EventType | "webhook_endpoint.test";

/** Describes the event and the action that it calls for. */
const occasions: Readonly<Record<WebhookType, { readonly summary: string; readonly description: string }>> = {
  "payment_session.succeeded": {
    summary: "Payment captured",
    description: "The payment was captured, once, by the gateway `capturedVia`. Final. Ship the order.",
  },
  "payment_session.declined": {
    summary: "Payment declined",
    description: "The last gateway that was called declined, and nothing is captured. Final. Offer another card.",
  },
  "payment_session.degraded": {
    summary: "Payment not completed",
    description: "No gateway gave a usable answer, and nothing is captured. Final. Offer to try again.",
  },
  "payment_session.expired": {
    summary: "Session expired",
    description:
      "No card was submitted. Final. Free what you had reserved, unless `expiredBecause` is `REPLACED`: the order goes on in the session `replacedBy`.",
  },
  "payment_session.pending": {
    summary: "Payment pending",
    description: "The outcome is not known yet. Wait for a final event, and do not charge the customer again.",
  },
  "payment_session.held": {
    summary: "Amount held",
    description: "A payment with manual capture holds the amount. Capture it before `held.until`, or cancel it.",
  },
  "payment_session.capture_due": {
    summary: "Capture due",
    description: "The hold ends within a day. Capture the payment before `held.until`, or cancel it.",
  },
  "payment_attempt.voided": {
    summary: "Hold voided",
    description: "A gateway released a hold that was no longer needed. Nothing to do; `attemptId` names the attempt.",
  },
  "payment_attempt.capture_failed": {
    summary: "Capture failed",
    description:
      "A capture that the gateway had accepted failed. Stop the shipment; `attemptId` names the attempt. Charge the customer again only once the gateway shows no other capture.",
  },
  "refund.succeeded": {
    summary: "Refund succeeded",
    description: "The money is on its way to the card. `refundId` names the refund.",
  },
  "refund.failed": {
    summary: "Refund failed",
    description: "Read `failureCode`; the amount can be refunded again. `refundId` names the refund.",
  },
  "refund.pending": {
    summary: "Refund pending",
    description:
      "The gateway has not answered for an hour. Wait, and do not refund again. `refundId` names the refund.",
  },
  "dispute.created": {
    summary: "Payment disputed",
    description:
      "A cardholder's bank disputes the payment. Stop the shipment, and answer before `respondBy`; what the dispute holds cannot be refunded. `disputeId` names the dispute.",
  },
  "dispute.updated": {
    summary: "Dispute changed",
    description: "Read its `status`, `heldMinor` and `respondBy`. `disputeId` names the dispute.",
  },
  "dispute.due_soon": {
    summary: "Dispute due soon",
    description:
      "The dispute needs a response, and its deadline is within 72 hours: answer before `respondBy`. Once for each stage of it. `disputeId` names the dispute.",
  },
  "dispute.closed": {
    summary: "Dispute ended",
    description:
      "It is WON, LOST, ACCEPTED or CLOSED. A bank may turn it later: then another event follows. `disputeId` names the dispute.",
  },
  "payment_method.saved": {
    summary: "Card stored",
    description:
      "The card of the payment is stored, after its approval. `paymentMethodId` names it. An earlier card with the same number is replaced behind the same id.",
  },
  "agreement.updated": {
    summary: "Agreement changed",
    description:
      "An agreement has begun, needs another card, was cancelled or has ended: see `agreement`. The session is the one that began it.",
  },
  "setup_session.succeeded": {
    summary: "Set-up approved",
    description:
      "The card of a set-up was approved, and nothing was charged. Final. It is stored a moment later: `payment_method.saved` follows.",
  },
  "setup_session.failed": {
    summary: "Set-up failed",
    description: "The card of a set-up was declined, or no gateway gave a usable answer. Final. Offer another card.",
  },
  "setup_session.expired": {
    summary: "Set-up expired",
    description:
      "No card was submitted to a set-up. Final. Create another one if the customer still wants to store a card.",
  },
  "webhook_endpoint.test": {
    summary: "Endpoint test",
    description: "Sent when you verify an endpoint. Answer with a 2xx status, which verifies it.",
  },
};

const text = (description: string, rest: Schema = {}): Schema => ({ type: "string", description, ...rest });

/** The schemas that the bodies refer to, made from that of a session as it is read. */
export function webhookSchemas(session: Schema): Record<string, Schema> {
  const properties = withoutPersonal(session.properties as Readonly<Record<string, Schema>>);
  const required = session.required as readonly string[];
  const sequence = { type: "integer", minimum: 1, description: "Counts the events of the session from 1." };
  const ofSession = {
    type: "object",
    description: "The session as it was when the event was written.",
    properties: { sequence, ...properties },
    required: ["sequence", ...required],
  };
  const attemptId = text("The attempt that the event is about, one of `attempts`.");
  const refundId = text("The refund that the event is about, one of `refunds`.");
  const disputeId = text("The dispute that the event is about, one of `disputes`.");
  return {
    SessionEventData: ofSession,
    AttemptEventData: {
      ...ofSession,
      properties: { sequence, attemptId, ...properties },
      required: ["sequence", "attemptId", ...required],
    },
    RefundEventData: {
      ...ofSession,
      properties: { sequence, refundId, ...properties },
      required: ["sequence", "refundId", ...required],
    },
    DisputeEventData: {
      ...ofSession,
      properties: { sequence, disputeId, ...properties },
      required: ["sequence", "disputeId", ...required],
    },
    AgreementEventData: {
      ...ofSession,
      properties: {
        sequence,
        agreement: {
          type: "object",
          description: "The agreement as it was when the event was written.",
          properties: {
            agreementId: text("Names the agreement.", { pattern: "^agr_[0-7][0-9a-hjkmnp-tv-z]{25}$" }),
            status: text("The state of the agreement.", { enum: ["ACTIVE", "NEEDS_CARD", "CANCELLED", "ENDED"] }),
            statusBecause: text("The reason of a state that is not ACTIVE."),
          },
          required: ["agreementId", "status"],
        },
        ...properties,
      },
      required: ["sequence", "agreement", ...required],
    },
    EndpointTestData: {
      type: "object",
      properties: { endpointId: text("The endpoint that is verified.") },
      required: ["endpointId"],
    },
  };
}

function withoutPersonal<Fields extends object>(fields: Fields): Omit<Fields, (typeof personalFields)[number]> {
  const kept = { ...fields } as Record<string, unknown>;
  for (const name of personalFields) delete kept[name];
  return kept as Omit<Fields, (typeof personalFields)[number]>;
}

/** The headers of every webhook, for the document's components. */
export const webhookParameters: Readonly<Record<string, Schema>> = {
  WebhookId: headerOf("webhook-id", "The event's `id`, the same on every delivery attempt.", "evt_…"),
  WebhookTimestamp: headerOf("webhook-timestamp", "Seconds since 1970 of this delivery attempt.", "1772446523"),
  WebhookSignature: headerOf(
    "webhook-signature",
    "`v1,` and the base64 HMAC-SHA256 of `webhook-id.webhook-timestamp.body`; two of them, with a space between, while a signing secret is replaced.",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  ),
};

function headerOf(name: string, description: string, example: string): Schema {
  return { name, in: "header", required: true, description, schema: { type: "string" }, example };
}

export function describeWebhooks(): Record<string, Schema> {
  const types = Object.keys(occasions) as WebhookType[];
  return Object.fromEntries(types.map((type) => [type, { post: describeWebhook(type) }]));
}

function describeWebhook(type: WebhookType): Schema {
  const { summary, description } = occasions[type];
  const [subject = "", event = ""] = type.split(".");
  const words = [...subject.split("_"), ...event.split("_")];
  const operationId = words.map((word, at) => (at === 0 ? word : `${word[0]!.toUpperCase()}${word.slice(1)}`)).join("");
  const example = type === "payment_session.succeeded" && {
    examples: { example: { summary, value: exampleOf(type) } },
  };
  return {
    operationId,
    tags: [webhookTag.name],
    summary,
    description,
    security: [],
    parameters: Object.keys(webhookParameters).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    requestBody: { required: true, content: { "application/json": { schema: bodyOf(type), ...example } } },
    responses: {
      "204": { description: "You have stored the event. Any 2xx status counts." },
      "400": { description: "The signature is wrong. Any status but 2xx, and no answer in 15 seconds, is retried." },
    },
  };
}

function bodyOf(type: WebhookType): Schema {
  return {
    type: "object",
    properties: {
      id: text("Names the event. Process each once.", { pattern: "^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$" }),
      type: text("What has happened.", { const: type }),
      timestamp: text("When it happened.", { format: "date-time", pattern: "\\.[0-9]{3}Z$" }),
      environment: text("Where it happened.", { enum: ["test", "live"] }),
      data: { $ref: `#/components/schemas/${dataOf(type)}` },
    },
    required: ["id", "type", "timestamp", "environment", "data"],
  };
}

function dataOf(type: WebhookType): string {
  if (type === "webhook_endpoint.test") return "EndpointTestData";
  if (type.startsWith("refund.")) return "RefundEventData";
  if (type.startsWith("dispute.")) return "DisputeEventData";
  if (type.startsWith("agreement.")) return "AgreementEventData";
  return type.startsWith("payment_attempt.") ? "AttemptEventData" : "SessionEventData";
}

function exampleOf(type: WebhookType): object {
  const session = withoutPersonal(sessionResponse);
  const envelope = { id: "evt_01m7yfb0c2d4e6f8g0h2j4k6m8", type, timestamp: session.settledAt, environment: "test" };
  return { ...envelope, data: { sequence: 1, ...session } };
}
