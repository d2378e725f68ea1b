import { describe, expect, it } from "vitest";
import { createResponse, metaResponse, sessionResponse } from "../../../edge/reference/api-examples.ts";
import { type ReceivedAnswer, requireDocumented } from "./documented-answers.ts";

const requestId = "req_01m7yf98y0eht817q13cv6rysk";
const named = { "request-id": requestId, "content-type": "application/json" };
const error = {
  type: "https://your-host/docs/errors#not_found",
  title: "Not found",
  status: 404,
  code: "not_found",
  detail: "There is nothing at this path.",
  requestId,
};

function answer(body: object, change: Partial<ReceivedAnswer & { headers: Headers }> = {}): ReceivedAnswer {
  const defaults = { method: "GET", target: "/api/v1/meta?x=1", status: 200, headers: new Headers(named) };
  return { ...defaults, text: JSON.stringify(body), ...change };
}

const session = { target: `/api/v1/payment-sessions/${createResponse.sessionId}` };
const creation = {
  method: "POST",
  target: "/api/v1/payment-sessions",
  status: 201,
  headers: new Headers({ ...named, location: session.target }),
};

describe("requireDocumented()", () => {
  it.each<[string, ReceivedAnswer]>([
    ["liveness", answer(metaResponse)],
    ["a creation", answer(createResponse, creation)],
    ["a session with its attempts", answer(sessionResponse, session)],
    ["a session that is not found", answer(error, { ...session, status: 404 })],
    ["a path that is none", answer(error, { target: "/api/v1/refunds", status: 404 })],
    ["a method that the path does not have", answer({ ...error, status: 405 }, { method: "PUT", status: 405 })],
  ])("accepts %s", (_, received) => {
    expect(() => requireDocumented(received)).not.toThrow();
  });

  it.each<[string, ReceivedAnswer, RegExp]>([
    ["a status that is not listed", answer(error, { status: 404 }), /404 is not among 200, 400/],
    ["an unknown member", answer({ ...metaResponse, uptime: 1 }), /"uptime"/],
    [
      "an unknown member further in",
      answer({ ...sessionResponse, card: { brand: "visa", last4: "0002", bin: "400000" } }, session),
      /\/card must NOT have unevaluated properties/,
    ],
    ["an unknown member of an error", answer({ ...error, hint: "?" }, { ...session, status: 404 }), /"hint"/],
    ["another operation's code", answer({ ...error, status: 400 }, { status: 400 }), /\/code must be equal to one/],
    ["a status that the body contradicts", answer({ ...error, status: 400 }, { ...session, status: 404 }), /\/status/],
    ["a missing member", answer({ service: "switchyard" }), /required property 'version'/],
    [
      "null for an unset member",
      answer({ ...sessionResponse, settledAt: null }, session),
      /\/settledAt must be string/,
    ],
    ["a number as text", answer({ ...sessionResponse, amountMinor: "4900" }, session), /\/amountMinor must be integer/],
    ["a time without its fraction", answer({ ...metaResponse, time: "2026-03-02T10:00:00Z" }), /\/time must match/],
    ["a missing header", answer(createResponse, { ...creation, headers: new Headers(named) }), /Location is missing/],
    [
      "a request id of another form",
      answer(metaResponse, { headers: new Headers({ ...named, "request-id": "1" }) }),
      /Request-Id must match/,
    ],
    [
      "another content type",
      answer(metaResponse, { headers: new Headers({ ...named, "content-type": "text/html" }) }),
      /text\/html/,
    ],
    [
      "an error in another shape",
      answer({ error: "no" }, { target: "/api/v1/refunds", status: 404 }),
      /required property/,
    ],
    ["success where there is nothing", answer(metaResponse, { target: "/api/v1/refunds" }), /instead of 404/],
  ])("refuses %s", (_, received, words) => {
    expect(() => requireDocumented(received)).toThrow(words);
  });
});
