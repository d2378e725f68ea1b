import { describe, expect, it } from "vitest";
import { attributesOf, parseTraceparent, type SpanFacts, untraced } from "./telemetry.ts";

describe("attributesOf()", () => {
  it("returns facts that are on the list and in their form", () => {
    const facts = { gateway: "SANDBOX_A", outcome: "declined", failureKind: "HARD_DECLINE", tries: 2, httpStatus: 402 };
    expect(attributesOf({ ...facts, sessionId: "ps_01h2xcejqtf2nbrexx3vqjhp41" })).toEqual({
      "payment.gateway": "SANDBOX_A",
      "payment.outcome": "declined",
      "payment.failure_kind": "HARD_DECLINE",
      "payment.session_id": "ps_01h2xcejqtf2nbrexx3vqjhp41",
      "webhook.tries": 2,
      "http.response.status_code": 402,
    });
  });

  it("omits everything else, so that no card, secret or address enters a trace by mistake", () => {
    const facts = {
      sessionId: "ps_01h2xcejqtf2nbrexx3vqjhp41_secret_t1_abc",
      outcome: "card 4242 4242",
      gateway: "4242424242424242",
      declineCode: "ada@example.com",
      tries: 4242424242424242,
      card: "4242424242424242",
    };
    expect(attributesOf(facts as SpanFacts)).toEqual({});
  });
});

describe("parseTraceparent()", () => {
  it("reads the ids and nothing else of a header", () => {
    expect(parseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")).toEqual({
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      spanId: "00f067aa0ba902b7",
    });
  });

  it.each([
    null,
    "",
    "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  ])("rejects %s", (header) => {
    expect(parseTraceparent(header)).toBeUndefined();
  });
});

describe("untraced", () => {
  it("does the work and propagates nothing", async () => {
    const options = { of: { session: "00000000-0000-7000-8000-000000000001" } };
    expect(await untraced.span("payment.process", options, async () => untraced.outgoing())).toBeUndefined();
    await expect(untraced.span("payment.process", options, () => Promise.reject(new Error("lost")))).rejects.toThrow(
      "lost",
    );
  });
});
