/** Sends one HTTP request and reads its whole answer, within bounds of time and size. */
import { type HttpAnswer, RestError, unexpectedAnswer } from "./rest-error.ts";

/** A request as it is sent. */
export type HttpRequest = {
  readonly method: "GET" | "POST" | "DELETE";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
};

// A page of 100 sessions is well under 1 MiB.
const answerBytesMax = 4 * 1024 * 1024;

/**
 * Uses the fetch that is part of Node, so that a merchant installs no HTTP client; it keeps connections alive and never
 * sends a request twice by itself. Rejects with RestError when no complete answer arrives; returns an answer of any
 * status.
 */
export async function exchange(
  request: HttpRequest,
  options: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<HttpAnswer> {
  const { url, method, headers, body } = request;
  const ending = new AbortController();
  const end = () => ending.abort();
  const timer = setTimeout(end, options.timeoutMs);
  options.signal?.addEventListener("abort", end, { once: true });
  if (options.signal?.aborted) end();
  try {
    const answer = await fetch(url, {
      method,
      headers: { ...headers, accept: "application/json" },
      ...(body !== undefined && { body }),
      // The key in the headers is only for this address.
      redirect: "manual",
      signal: ending.signal,
    });
    return { status: answer.status, headers: answer.headers, text: await readText(answer) };
  } catch (error) {
    if (error instanceof RestError) throw error;
    throw noAnswer(error as Error, { url, timedOut: ending.signal.aborted, timeoutMs: options.timeoutMs });
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", end);
  }
}

async function readText(answer: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > answerBytesMax) throw unexpectedAnswer(answer, `The answer is longer than ${answerBytesMax} bytes.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function noAnswer(error: Error, about: { url: string; timedOut: boolean; timeoutMs: number }): RestError {
  const { origin } = new URL(about.url);
  const reason = about.timedOut ? `it took longer than ${about.timeoutMs} ms` : reasonOf(error);
  return new RestError(undefined, {
    code: about.timedOut ? "deadline_exceeded" : "unavailable",
    detail: `${origin} gave no answer: ${reason}.`,
    isTemporary: true,
    cause: error,
  });
}

// `fetch failed` does not give the reason; its cause does, or at least the cause's code.
function reasonOf({ message, cause }: Error): string {
  const { message: reason, code } = (cause ?? {}) as { message?: string; code?: string };
  return reason || code || message;
}
