/** Receives the service's webhooks: verifies their signatures, and stores each once. */
import type { IncomingHttpHeaders } from "node:http";
import { verifyWebhook, WebhookVerificationError } from "../client/merchant/verify-webhook.ts";
import type { WebhookEvent } from "../client/merchant/webhook-event.ts";
import type { Orders } from "./orders.ts";

export class WebhookReceiver {
  readonly #signingSecret: string;
  readonly #orders: Orders;

  /** `signingSecret` as the dashboard showed it: `<brand>_test_whsec_…`. */
  constructor(signingSecret: string, orders: Orders) {
    this.#signingSecret = signingSecret;
    this.#orders = orders;
  }

  /**
   * Returns the status to answer with. `rawBody` is the body as received: parsed and serialized again, it would differ.
   */
  receive(headers: IncomingHttpHeaders, rawBody: string): 204 | 400 {
    try {
      this.#keep(verifyWebhook({ body: rawBody, headers, secrets: this.#signingSecret }), headers["webhook-id"]);
      return 204;
    } catch (error) {
      if (error instanceof WebhookVerificationError) return 400;
      throw error;
    }
  }

  #keep(event: WebhookEvent, webhookId: unknown): void {
    // The dashboard's test event belongs to no order, and events of newer services are not for this shop: both are
    // acknowledged.
    if (event.type === "webhook_endpoint.test" || event.type === "unknown") return;
    this.#orders.ownSessionId ??= event.data.sessionId;
    const order = this.#orders.find(event.data.orderRef);
    if (!order && event.type === "payment_session.succeeded") this.#orders.recordPaidByLink(event.data);
    if (!order) return;
    this.#orders.recordWebhook(order, { webhookId: String(webhookId), type: event.type, receivedAt: new Date() });
    // A shop ships the goods here, and not in the browser's onSuccess: once, on payment_session.succeeded.
  }
}
