/** The public REST API as a merchant's backend calls it, typed; it knows of us only what the API documents. */
import type { Secret } from "../platform/secrets.ts";

/** What a session is created for. `amountMinor` is in minor units: 4900 is 49.00 where the currency has two decimals. */
export type NewPaymentSession = {
  readonly amountMinor: number;
  /** ISO 4217, such as EUR. */
  readonly currency: string;
  readonly orderRef: string;
  readonly customerEmail?: string | undefined;
};

type SessionStatus = "CREATED" | "SUCCEEDED" | "DECLINED" | "DEGRADED" | "EXPIRED";

/** The answer to creation. Hand `sessionId`, `clientSecret` and `vault` to the widget as they are. */
export type CreatedPaymentSession = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly status: "CREATED";
  readonly expiresAt: string;
  readonly vault: Readonly<Record<string, unknown>>;
  readonly orderRef: string;
  readonly amountMinor: number;
  readonly currency: string;
};

/** One try at one gateway. */
export type PaymentAttempt = {
  readonly attemptId: string;
  readonly sequence: number;
  readonly gateway: string;
  readonly connectionId: string;
  readonly because: string;
  readonly status: string;
  readonly declineCode?: string;
  readonly gatewayCode?: string;
  readonly durationMs?: number;
  readonly next?: { readonly action: "failover" | "stop"; readonly because: string };
};

/** A session as it stands; the API sends more fields than a caller must know. */
export type PaymentSession = {
  readonly sessionId: string;
  readonly orderRef: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly status: SessionStatus;
  readonly processing: boolean;
  readonly failover: boolean;
  readonly capturedVia?: string;
  readonly declineCode?: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  /** Oldest first. */
  readonly attempts: readonly PaymentAttempt[];
};

/** The API's refusal in its own words, or that it gave no answer (`unavailable`). */
export class RestError extends Error {
  override readonly name = "RestError";
  readonly code: string;
  /** The HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly problems: readonly { readonly param: string; readonly detail: string }[];

  constructor(status: number | undefined, body: Partial<RestErrorBody>) {
    super(body.detail ?? `The answer was HTTP ${status}.`);
    this.status = status;
    this.code = body.code ?? "unknown";
    this.requestId = body.requestId;
    this.problems = body.errors ?? [];
  }
}

type RestErrorBody = {
  code: string;
  detail: string;
  requestId: string;
  errors: { param: string; detail: string }[];
};

// The service answers a repeat that waits for its first request within five seconds.
const timeoutMs = 15_000;

/** `restBase` includes the version, such as https://pay.example.com/api/v1. Every method rejects with RestError. */
export function createRestClient(restBase: string, secretKey: Secret) {
  const call = async <Answer>(path: string, init: RequestInit): Promise<Answer> => {
    const answer = await fetch(`${restBase}${path}`, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${secretKey.expose()}` },
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((error: Error) => {
      throw new RestError(undefined, {
        code: "unavailable",
        detail: `${restBase} gave no answer: ${reasonOf(error)}.`,
      });
    });
    const text = await answer.text();
    if (!answer.ok) throw new RestError(answer.status, parseBody(text));
    return JSON.parse(text) as Answer;
  };
  return {
    /** Repeat with the same `idempotencyKey` when no answer came: it returns the first session. */
    createSession: (session: NewPaymentSession, idempotencyKey: string) =>
      call<CreatedPaymentSession>("/payment-sessions", {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": idempotencyKey },
        body: JSON.stringify(session),
      }),
    /** A session with its attempt trail. */
    getSession: (sessionId: string) =>
      call<PaymentSession>(`/payment-sessions/${encodeURIComponent(sessionId)}`, { method: "GET" }),
  };
}

// `fetch failed` says nothing; its cause does, or at least the cause's code.
function reasonOf({ message, cause }: Error): string {
  const { message: reason, code } = (cause ?? {}) as { message?: string; code?: string };
  return reason || code || message;
}

// Something in between, such as a proxy, may answer in words of its own.
function parseBody(text: string): Partial<RestErrorBody> {
  try {
    return JSON.parse(text) as Partial<RestErrorBody>;
  } catch {
    return {};
  }
}
