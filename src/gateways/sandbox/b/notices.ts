/** SANDBOX_B's notices, and those of Adyen's stand-in: Adyen-like items, signed, posted until the merchant's side answers 2xx. */
import { randomUUID } from "node:crypto";
import { type SignedFields, signNotice } from "../../adyen/notice-signature.ts";
import type { GatewayHttp } from "../../gateway-http.ts";
import type { Account } from "../accounts.ts";
import type { Faults } from "../faults.ts";
import type { Authorization } from "../ledger.ts";
import type { Pauses } from "../pauses.ts";

/** What a notice tells, before it is addressed and signed. */
export type NoticeContent = {
  readonly eventCode: "AUTHORISATION" | "CAPTURE" | "CAPTURE_FAILED" | "CANCELLATION" | "TECHNICAL_CANCEL" | "TEST";
  readonly success: boolean;
  /** Reference of this event: the authorization's own for AUTHORISATION, that of the capture or cancel otherwise. */
  readonly pspReference: string;
  readonly merchantReference: string;
  readonly authorization?: Authorization | undefined;
  readonly reason?: string | undefined;
  /** What the authorization is called, where not by its id in the ledger. */
  readonly originalReference?: string | undefined;
  /** Whose notice it is, as pauses name it. */
  readonly from?: "b" | "adyen";
};

// Tries double from 250 ms to 30 s: quick in a demo, and a receiver down for an hour still gets everything.
const firstRetryMs = 250;
const retryMsMax = 30_000;
const triesMax = 150;
const postTimeoutMs = 5_000;

/** Posts SANDBOX_B's notices to where each account wants them. */
export class NoticeSender {
  readonly #http: GatewayHttp;
  readonly #pauses: Pauses;
  readonly #faults: Faults;
  #closed = false;

  constructor(http: GatewayHttp, pauses: Pauses, faults: Faults) {
    this.#http = http;
    this.#pauses = pauses;
    this.#faults = faults;
  }

  /** Posts until it is answered 2xx. Signs at each try, so an address or key set meanwhile is used. Never throws. */
  send(account: Account, content: NoticeContent): Promise<void> {
    const eventDate = new Date().toISOString();
    return this.#faults.aroundNotice(() => this.#deliver(account, content, eventDate));
  }

  close(): void {
    this.#closed = true;
  }

  async #deliver(account: Account, content: NoticeContent, eventDate: string): Promise<void> {
    const { from = "b" } = content;
    let delayMs = firstRetryMs;
    for (let tried = 0; tried < triesMax && !this.#closed; tried++) {
      await this.#pauses.gate(`${from}.notice`, content.merchantReference);
      if (account.notificationUrl !== "" && (await this.#post(account, content, eventDate))) return;
      await this.#pauses.wait(`${from}.notice-retry`, content.merchantReference, delayMs);
      delayMs = Math.min(delayMs * 2, retryMsMax);
    }
  }

  async #post(account: Account, content: NoticeContent, eventDate: string): Promise<boolean> {
    const reply = await this.#http.send({
      method: "POST",
      url: account.notificationUrl,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(noticeBody(account, content, eventDate)),
      timeoutMs: postTimeoutMs,
    });
    return reply.type === "answer" && reply.status >= 200 && reply.status < 300;
  }
}

function noticeBody(account: Account, content: NoticeContent, eventDate: string): object {
  const { authorization, reason } = content;
  const isOriginal = content.eventCode === "AUTHORISATION";
  const fields: SignedFields = {
    pspReference: content.pspReference,
    originalReference: content.originalReference ?? (isOriginal ? "" : (authorization?.id ?? "")),
    merchantAccountCode: account.id,
    merchantReference: content.merchantReference,
    value: authorization?.value ?? 0,
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
    additionalData: { hmacSignature: signNotice(account.hmacKey, fields) },
  };
  return {
    live: String(account.environment === "live"),
    notificationItems: [{ NotificationRequestItem: item }],
  };
}

/** A reference such as Adyen's: unique per event. */
export function newPspReference(): string {
  return `psp_${randomUUID()}`;
}
