import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { brokenAnswers } from "../../dev/testing/broken-answers.ts";
import { type Answer, type ReceivedRequest, Receiver } from "../../dev/testing/receiver.ts";
import { appearances } from "../../edge/error-mapping.ts";
import { submitWaitMs } from "../../limits.ts";
import { errorCodes } from "./api-error.ts";
import { gatewayTryTimeoutMs } from "./repeat.ts";
import { RestClient, type RestClientOptions } from "./rest-client.ts";
import { RestError } from "./rest-error.ts";

const secretKey = "switchyard_test_sk_neverShown";
const wanted = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };
const created = {
  sessionId: "ps_1",
  clientSecret: "ps_1_secret_t1_neverShown",
  status: "CREATED",
  expiresAt: "2026-01-01T00:30:00.000Z",
  vault: {},
  ...wanted,
};
const json = { "content-type": "application/json" };
const ok: Answer = { status: 201, headers: json, body: JSON.stringify(created) };
const refusal = (status: number, code: string, headers = {}): Answer => ({
  status,
  headers: { ...json, ...headers },
  body: JSON.stringify({ status, code, detail: `It is ${code}.`, requestId: "req_1" }),
});

let service: Receiver;
beforeEach(async () => {
  service = await Receiver.start();
});
afterEach(() => service.close());

const clientOf = (options: Partial<RestClientOptions> = {}) =>
  new RestClient({ restBase: `${service.url}/api/v1`, secretKey, ...options });

/** Sends the answers in turn, and repeats the last one forever. */
function answerInTurn(...answers: Answer[]): void {
  service.answerWith(() => (answers.length > 1 ? answers.shift()! : answers[0]!));
}

async function failureOf(call: Promise<unknown>): Promise<RestError> {
  const error = await call.then(
    () => expect.unreachable(),
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(RestError);
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("neverShown");
  return error as RestError;
}

const keysOf = (requests: readonly ReceivedRequest[]) => requests.map(({ headers }) => headers["idempotency-key"]);

describe("createSession()", () => {
  it.each<[string, Answer]>([
    ["a reset connection", "reset"],
    ["a connection that is closed without a byte", { write: (socket) => void socket.end() }],
    [
      "an answer that breaks off",
      { write: (socket) => void socket.end("HTTP/1.1 201 OK\r\ncontent-length: 9\r\n\r\n{") },
    ],
    ["a 500", refusal(500, "internal")],
    ["a proxy's 502", { status: 502, headers: { "content-type": "text/html" }, body: "<html>Bad Gateway</html>" }],
    ["a 503", refusal(503, "unavailable")],
    ["a 504", refusal(504, "deadline_exceeded")],
    ["a 408", refusal(408, "request_timeout")],
    ["a 409 of a first request under way", refusal(409, "idempotency_in_progress")],
    ["a 429", refusal(429, "rate_limited")],
  ])("is sent again with the same key after %s", async (_what, first) => {
    answerInTurn(first, ok);
    expect(await clientOf().createSession(wanted)).toEqual(created);
    expect(service.requests.map(({ body }) => body.toString())).toEqual(Array(2).fill(JSON.stringify(wanted)));
    const [key, ...others] = new Set(keysOf(service.requests));
    expect(key).toMatch(/^[0-9a-f-]{36}$/);
    expect(others).toEqual([]);
  });

  it.each([
    [400, "invalid_field"],
    [401, "invalid_key"],
    [403, "key_type_not_allowed"],
    [404, "not_found"],
    [409, "already_submitted"],
    [415, "unsupported_media_type"],
    [422, "idempotency_key_reused"],
    [501, "method_not_allowed"],
    [418, "a_code_of_tomorrow"],
  ])("is not sent again after %i %s", async (status, code) => {
    service.answerWith(refusal(status, code));
    const error = await failureOf(clientOf().createSession(wanted));
    expect(error).toMatchObject({ status, code, requestId: "req_1", tries: 1, isTemporary: false });
    expect(error.message).toBe(`It is ${code}.`);
    expect(service.requests).toHaveLength(1);
  });

  it.each<[string, object, string]>([
    [
      "the field that comes first, and how many others",
      {
        detail: "A required field is missing.",
        param: "orderRef",
        errors: [
          { param: "amountMinor", code: "invalid_field", detail: "must be a whole number" },
          { param: "orderRef", code: "missing_field", detail: "is required" },
        ],
      },
      "A required field is missing: orderRef is required (and 1 more).",
    ],
    [
      "the only field",
      {
        detail: "A field breaks its rule.",
        errors: [{ param: "amountMinor", code: "invalid_field", detail: "must be a whole number" }],
      },
      "A field breaks its rule: amountMinor must be a whole number.",
    ],
    [
      "a parameter of which no more is known",
      { detail: "Not accepted.", param: "pageToken" },
      "Not accepted: pageToken.",
    ],
  ])("names %s in its message", async (_what, facts, message) => {
    const body = JSON.stringify({ status: 400, code: "invalid_field", requestId: "req_1", ...facts });
    service.answerWith({ status: 400, headers: json, body });
    expect((await failureOf(clientOf().createSession(wanted))).message).toBe(message);
  });

  it("ends after the maximum of requests, and reports their number and the key", async () => {
    service.answerWith(refusal(503, "unavailable"));
    const error = await failureOf(clientOf({ triesMax: 3 }).createSession(wanted, { idempotencyKey: "order-1-1" }));
    expect(error).toMatchObject({ code: "unavailable", tries: 3, isTemporary: true, idempotencyKey: "order-1-1" });
    expect(keysOf(service.requests)).toEqual(Array(3).fill("order-1-1"));
  });

  it("does not wait if the service asks for more than the maximum, but reports the time", async () => {
    service.answerWith(refusal(429, "rate_limited", { "retry-after": "2" }));
    const shortly = await failureOf(clientOf({ timeoutMs: 1_500 }).createSession(wanted));
    expect(shortly).toMatchObject({ retryAfterMs: 2_000, tries: 1 });
    service.answerWith(refusal(503, "unavailable", { "retry-after": new Date(Date.now() + 20_000).toUTCString() }));
    const { retryAfterMs, tries } = await failureOf(clientOf().createSession(wanted));
    expect(tries).toBe(1);
    expect(retryAfterMs).toBeGreaterThan(15_000);
  });

  it("aborts a request without an answer and sends another, within the time of the call", async () => {
    service.answerWith("hang");
    const error = await failureOf(clientOf({ tryTimeoutMs: 200, timeoutMs: 2_000, triesMax: 2 }).createSession(wanted));
    expect(error).toMatchObject({ code: "deadline_exceeded", status: undefined, tries: 2 });
    expect(error.message).toBe(`${service.url} gave no answer: it took longer than 200 ms.`);
    const once = await failureOf(clientOf().createSession(wanted, { timeoutMs: 100 }));
    expect(once).toMatchObject({ code: "deadline_exceeded", tries: 1 });
  });

  it("waits for captures and refunds longer than the service waits for the gateway", async () => {
    expect(gatewayTryTimeoutMs).toBeGreaterThan(submitWaitMs);
    service.answerWith({ ...ok, body: JSON.stringify({ ...created, refundId: "ref_1" }) });
    const timers = vi.spyOn(globalThis, "setTimeout");
    const client = clientOf();
    await client.getSession("ps_1");
    await client.captureSession("ps_1");
    await client.createRefund("ps_1", {}, { idempotencyKey: "return-1" });
    const waits = timers.mock.calls.map(([, ms]) => ms).filter((ms) => ms === 15_000 || ms === gatewayTryTimeoutMs);
    timers.mockRestore();
    expect(waits).toEqual([15_000, gatewayTryTimeoutMs, gatewayTryTimeoutMs]);
  });

  it("ends at once when its signal is aborted, with the signal's reason", async () => {
    service.answerWith("hang");
    const mind = new AbortController();
    const call = clientOf().createSession(wanted, { signal: mind.signal });
    await service.waitFor();
    mind.abort(new Error("changed my mind"));
    await expect(call).rejects.toThrow("changed my mind");
    await expect(clientOf().createSession(wanted, { signal: mind.signal })).rejects.toThrow("changed my mind");
    expect(service.requests).toHaveLength(1);
  });

  it("reports every problem of a field", async () => {
    const problem = {
      param: "currency",
      pointer: "/currency",
      code: "invalid_field",
      detail: "must be in circulation",
    };
    const body = { code: "invalid_field", detail: "The body is not valid.", errors: [problem] };
    service.answerWith({ status: 400, headers: { ...json, "request-id": "req_2" }, body: JSON.stringify(body) });
    const error = await failureOf(clientOf().createSession(wanted));
    expect(error).toMatchObject({ param: "currency", problems: [problem], requestId: "req_2" });
  });
});

describe("an answer that is not the service's", () => {
  it.each<[string, Answer, string]>([
    ["a redirect", { status: 307, headers: { location: "http://127.0.0.1:1/" } }, "a redirect, which is not followed"],
    ["a page", { status: 200, headers: { "content-type": "text/html" }, body: "<html>" }, "not the service's"],
    ["a JSON list", { status: 200, headers: json, body: "[1]" }, "not the service's"],
    ["a proxy's refusal", { status: 403, body: "<html>Blocked</html>" }, "HTTP 403"],
    ["another service's refusal", { status: 404, headers: json, body: '{"error":{"code":404}}' }, "HTTP 404"],
  ])("is unexpected, and the request is not repeated: %s", async (_what, answer, said) => {
    service.answerWith(answer);
    const error = await failureOf(clientOf().getSession("ps_1"));
    expect(error).toMatchObject({ code: "unexpected_answer", tries: 1 });
    expect(error.message).toContain(said);
    expect(service.requests).toHaveLength(1);
  });

  it.each(["a body without end", "an answer of 10 MB"])("is read only up to a bound: %s", async (name) => {
    const spoil = brokenAnswers[name]!;
    service.answerWith(() => spoil({ status: 200, body: "{}" } as never) as Answer);
    const error = await failureOf(clientOf().getSession("ps_1"));
    expect(error).toMatchObject({ code: "unexpected_answer", tries: 1 });
    expect(error.message).toContain("longer than 4194304 bytes");
  });
});

describe("new RestClient()", () => {
  it("hides its key when printed, and sends it to no other address", async () => {
    const client = clientOf();
    expect(inspect(client, { depth: 10, showHidden: true })).not.toContain("neverShown");
    expect(JSON.stringify(client)).not.toContain("neverShown");
    const other = await Receiver.start();
    service.answerWith({ status: 302, headers: { location: other.url } });
    await failureOf(client.getSession("ps_1"));
    expect(other.requests).toEqual([]);
    await other.close();
  });

  it.each([`${secretKey}\n`, "schlüssel", ""])(
    "refuses a key that no header can carry, without repeating it",
    (key) => {
      expect(() => clientOf({ secretKey: key })).toThrow(/^secretKey must be printable ASCII/);
    },
  );

  it.each(["not an address", "ftp://a.example", "https://me:neverShown@a.example/api/v1"])("refuses %s", (restBase) => {
    expect(() => clientOf({ restBase })).toThrow(/^restBase must be/);
  });

  it("refuses invalid times", () => {
    expect(() => clientOf({ timeoutMs: 0 })).toThrow("timeoutMs");
    expect(() => clientOf({ triesMax: Number.NaN })).toThrow("triesMax");
  });
});

describe("errorCodes", () => {
  it("are those of the service", () => {
    expect([...errorCodes].toSorted()).toEqual(Object.keys(appearances).toSorted());
  });
});
