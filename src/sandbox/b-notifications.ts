/**
 * Notifications of SANDBOX_B and of Adyen's emulator: Adyen-like items, signed, posted until the merchant's side
 * answers 2xx.
 */
import { randomUUID } from "node:crypto";
import { type SignedFields, signNotification } from "../gateways/adyen/notification-signature.ts";
import type { GatewayHttp } from "../platform/outbound-http.ts";
import type { Account } from "./accounts.ts";
import type { DisputeReport } from "./disputes.ts";
import type { Faults } from "./faults.ts";
import type { Authorization } from "./ledger.ts";
import type { Pauses } from "./pauses.ts";
import type { Tasks } from "./tasks.ts";

/** The content of a notification, before it is addressed and signed. */
export type NotificationContent = {
  readonly eventCode:
    | ("AUTHORISATION" | "CAPTURE" | "CAPTURE_FAILED" | "CANCELLATION" | "TECHNICAL_CANCEL")
    | ("REFUND" | "REFUND_FAILED" | "REFUNDED_REVERSED" | "EXPIRE" | "TEST" | "REPORT_AVAILABLE")
    | DisputeReport;
  readonly success: boolean;
  /** Reference of this event: the authorization's own for AUTHORISATION, that of the capture or cancel otherwise. */
  readonly pspReference: string;
  readonly merchantReference: string;
  readonly authorization?: Authorization | undefined;
  /** The event's amount, if it is not the authorization's. */
  readonly value?: number | undefined;
  readonly reason?: string | undefined;
  /** The content beside the signed fields. */
  readonly facts?: Readonly<Record<string, string>> | undefined;
  /** The reference of the authorization, if not its id in the ledger. */
  readonly originalReference?: string | undefined;
  /** The sender of the notification, as pauses name it. */
  readonly from?: "b" | "adyen";
};

// Delays double from 250 ms to 30 s: quick in a demo, and a receiver that is down for an hour still gets everything.
const firstRetryMs = 250;
const retryMsMax = 30_000;
const triesMax = 150;
const postTimeoutMs = 5_000;

type Notification = {
  readonly account: Account;
  readonly content: NotificationContent;
  readonly eventDate: string;
};

export class NotificationSender {
  readonly #http: GatewayHttp;
  readonly #pauses: Pauses;
  readonly #faults: Faults;
  readonly #owed: (notification: Notification) => Promise<void>;
  readonly #posts = new Set<Promise<boolean>>();
  #closed = false;

  constructor({ http, pauses, faults, tasks }: { http: GatewayHttp; pauses: Pauses; faults: Faults; tasks: Tasks }) {
    this.#http = http;
    this.#pauses = pauses;
    this.#faults = faults;
    this.#owed = tasks.define("notification", (notification) =>
      this.#faults.aroundNotification(() => this.#deliver(notification)),
    );
  }

  /**
   * Posts until it is answered 2xx. Signs each delivery attempt anew, so an address or key set meanwhile is used. Never
   * throws.
   */
  send(account: Account, content: NotificationContent): Promise<void> {
    const eventDate = new Date().toISOString();
    return this.#owed({ account, content, eventDate });
  }

  /** Resolves once every notification that is neither held back nor waiting for its repeat has been answered. */
  async quiet(): Promise<void> {
    while (this.#posts.size > 0) await Promise.all(this.#posts);
  }

  close(): void {
    this.#closed = true;
  }

  async #deliver({ account, content, eventDate }: Notification): Promise<void> {
    const { from = "b" } = content;
    let delayMs = firstRetryMs;
    for (let tried = 0; tried < triesMax && !this.#closed; tried++) {
      await this.#pauses.gate(`${from}.notification`, content.merchantReference);
      if (account.notificationUrl !== "") {
        const post = this.#post(account, content, eventDate);
        this.#posts.add(post);
        const isTaken = await post.finally(() => this.#posts.delete(post));
        if (isTaken) return;
      }
      await this.#pauses.wait(`${from}.notification-retry`, content.merchantReference, delayMs);
      delayMs = Math.min(delayMs * 2, retryMsMax);
    }
  }

  async #post(account: Account, content: NotificationContent, eventDate: string): Promise<boolean> {
    const reply = await this.#http.send({
      method: "POST",
      url: account.notificationUrl,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(notificationBody(account, content, eventDate)),
      timeoutMs: postTimeoutMs,
    });
    return reply.type === "answer" && reply.status >= 200 && reply.status < 300;
  }
}

function notificationBody(account: Account, content: NotificationContent, eventDate: string): object {
  const { authorization, reason } = content;
  const isOriginal = content.eventCode === "AUTHORISATION";
  const fields: SignedFields = {
    pspReference: content.pspReference,
    originalReference: content.originalReference ?? (isOriginal ? "" : (authorization?.id ?? "")),
    merchantAccountCode: account.id,
    merchantReference: content.merchantReference,
    value: content.value ?? authorization?.value ?? 0,
    currency: authorization?.currency ?? "XXX",
    eventCode: content.eventCode,
    success: String(content.success),
  };
  const { value, currency, ...named } = fields;
  const item = {
    ...named,
    amount: { value, currency },
    eventDate,
    ...(reason === undefined ? {} : { reason }),
    additionalData: { ...content.facts, hmacSignature: signNotification(account.hmacKey, fields) },
  };
  return {
    live: String(account.environment === "live"),
    notificationItems: [{ NotificationRequestItem: item }],
  };
}

/** Returns a reference like Adyen's, unique per event. */
export function newPspReference(): string {
  return `psp_${randomUUID()}`;
}
