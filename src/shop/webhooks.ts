/** Receives the service's webhooks: proves who sent them, and keeps each once. */

import { Webhook, WebhookVerificationError } from "standardwebhooks";
import type { Orders } from "./orders.ts";
import type { SessionState } from "./payment-api.ts";

type WebhookBody = { readonly type: string; readonly data?: Partial<SessionState> };

export class WebhookReceiver {
  readonly #verifier: Webhook;
  readonly #orders: Orders;

  /** `signingSecret` as the dashboard showed it: `<brand>_test_whsec_…`. */
  constructor(signingSecret: string, orders: Orders) {
    // The Standard Webhooks library knows secrets from `whsec_` on.
    this.#verifier = new Webhook(signingSecret.slice(signingSecret.indexOf("whsec_")));
    this.#orders = orders;
  }

  /** Returns the status to answer with. `rawBody` are the bytes as received: parsed and printed again they would differ. */
  receive(headers: Record<string, string>, rawBody: string): 204 | 400 {
    let body: WebhookBody;
    try {
      body = this.#verifier.verify(rawBody, headers) as WebhookBody;
    } catch (error) {
      if (error instanceof WebhookVerificationError) return 400;
      throw error;
    }
    const order = this.#orders.find(body.data?.orderRef ?? "");
    // Of no order that we know, such as the dashboard's Verify: received all the same.
    if (!order) return 204;
    const webhookId = headers["webhook-id"] ?? "";
    this.#orders.recordWebhook(order, { webhookId, type: body.type, receivedAt: new Date() });
    // This, and not the browser's onSuccess, is where a shop sends the goods: once, on payment_session.succeeded.
    return 204;
  }
}
