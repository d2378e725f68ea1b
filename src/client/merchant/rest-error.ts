/** Failures of REST calls: refusals by the service, answers of other servers, and missing answers. */
import { ApiError, type ErrorFacts, type FieldProblem, type SessionState } from "./api-error.ts";

/** An answer as it arrived, read completely. */
export type HttpAnswer = { readonly status: number; readonly headers: Headers; readonly text: string };

/** A REST call that failed. */
export class RestError extends ApiError {
  override readonly name = "RestError";
  /** The HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;

  constructor(status: number | undefined, facts: ErrorFacts) {
    super(facts);
    this.status = status;
  }
}

/** Returns the error for an answer other than 2xx. */
export function refusalOf(answer: HttpAnswer): RestError {
  const { status, headers } = answer;
  const body = parseRefusal(answer.text);
  const isRedirect = status >= 300 && status < 400;
  return new RestError(status, {
    code: body?.code ?? "unexpected_answer",
    detail: body?.detail ?? `The answer is HTTP ${status}${isRedirect ? ", a redirect, which is not followed" : ""}.`,
    isTemporary: isTemporary(status, body?.code),
    param: body?.param,
    problems: body?.errors,
    state: body?.state,
    requestId: body?.requestId ?? headers.get("Request-Id") ?? undefined,
    retryAfterMs: retryAfterMsOf(headers.get("Retry-After")),
  });
}

/** Returns the error for a 2xx answer that the service does not send. */
export function unexpectedAnswer(answer: Pick<HttpAnswer, "status" | "headers">, detail: string): RestError {
  const requestId = answer.headers.get("Request-Id") ?? undefined;
  return new RestError(answer.status, { code: "unexpected_answer", detail, isTemporary: false, requestId });
}

// 501 is permanent; a conflict is temporary only while the first request with the key is under way.
function isTemporary(status: number, code: string | undefined): boolean {
  if (status === 409) return code === "idempotency_in_progress";
  return status === 408 || status === 429 || (status >= 500 && status !== 501);
}

/** Parses Retry-After: seconds or a date (RFC 9110, 10.2.3). */
function retryAfterMsOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const pauseMs = /^\s*\d+\s*$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return pauseMs >= 0 ? pauseMs : undefined;
}

type Refusal = {
  readonly code: string;
  readonly detail: string;
  readonly param?: string;
  readonly errors?: readonly FieldProblem[];
  readonly state?: SessionState;
  readonly requestId?: string;
};

// An intermediary, such as a proxy, may answer in another format.
function parseRefusal(text: string): Refusal | undefined {
  const body = parseObject(text);
  if (typeof body?.code !== "string" || typeof body.detail !== "string") return undefined;
  return body as Refusal;
}

/** Parses a text as a JSON object; undefined for any other text. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
