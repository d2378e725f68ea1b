/** The two REST calls that a merchant's backend makes, with its secret key. */

/** The create answer. `vault` is passed to the widget as it came. */
export type CreatedSession = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly expiresAt: string;
  readonly vault: Readonly<Record<string, unknown>>;
};

/** What the order page shows of GET /payment-sessions/{sessionId} and of a webhook's data. */
export type SessionState = {
  readonly sessionId: string;
  readonly orderRef: string;
  readonly status: string;
  readonly processing: boolean;
  readonly failover: boolean;
  readonly capturedVia?: string;
  readonly declineCode?: string;
  readonly card?: { readonly brand: string; readonly last4: string };
  readonly attempts: readonly AttemptState[];
};

export type AttemptState = {
  readonly attemptId: string;
  readonly sequence: number;
  readonly gateway: string;
  readonly status: string;
  readonly because: string;
  readonly failureKind?: string;
  readonly declineCode?: string;
  readonly gatewayCode?: string;
  readonly durationMs?: number;
  readonly next?: { readonly action: string; readonly because: string };
};

export type NewSession = {
  readonly amountMinor: number;
  readonly currency: string;
  readonly orderRef: string;
  readonly customerEmail?: string;
};

/** An answer that is not 2xx. `code` is the service's; give `requestId` to its support. */
export class PaymentApiError extends Error {
  override readonly name = "PaymentApiError";
  readonly code: string;
  readonly requestId: string;

  constructor(problem: { code?: string; detail?: string; requestId?: string }) {
    super(problem.detail ?? "The payment service gave no reason.");
    this.code = problem.code ?? "unknown";
    this.requestId = problem.requestId ?? "none";
  }
}

// A customer waits for this answer; after it they may press the button again, with the same Idempotency-Key.
const timeoutMs = 15_000;

export class PaymentApi {
  readonly #restBase: string;
  readonly #secretKey: string;

  constructor({ restBase, secretKey }: { restBase: string; secretKey: string }) {
    this.#restBase = restBase;
    this.#secretKey = secretKey;
  }

  /** Creates a session; a repeat with the same key returns the first one. */
  createSession(session: NewSession, idempotencyKey: string): Promise<CreatedSession> {
    return this.#call("/payment-sessions", {
      method: "POST",
      headers: { "Content-Type": "application/json", "Idempotency-Key": idempotencyKey },
      body: JSON.stringify(session),
    });
  }

  getSession(sessionId: string): Promise<SessionState> {
    return this.#call(`/payment-sessions/${encodeURIComponent(sessionId)}`, {});
  }

  async #call<Answer>(path: string, request: RequestInit): Promise<Answer> {
    const response = await fetch(this.#restBase + path, {
      ...request,
      headers: { ...request.headers, Authorization: `Bearer ${this.#secretKey}` },
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new PaymentApiError(answer);
    return answer;
  }
}
