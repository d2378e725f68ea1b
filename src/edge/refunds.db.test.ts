import { describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
const body = JSON.stringify({ amountMinor: 4900, currency: "EUR", orderRef: "order-1" });
const sessionId: string = (await edge.call("POST", "/payment-sessions", { body })).json.sessionId as string;

const refund = (
  body: string,
  headers: Record<string, string> = { "Idempotency-Key": systemRuntime.uuid() },
  of = sessionId,
) => edge.call("POST", `/payment-sessions/${of}/refunds`, { body, headers });

describe("POST /api/v1/payment-sessions/{sessionId}/refunds", () => {
  it.each([
    ["nothing", '{"amountMinor":0}', "/amountMinor"],
    ["a negative amount", '{"amountMinor":-1}', "/amountMinor"],
    ["a fraction", '{"amountMinor":0.5}', "/amountMinor"],
    ["a fraction that rounds to a whole", '{"amountMinor":1.0000000000000002}', "/amountMinor"],
    ["too large an amount", '{"amountMinor":1000000000000}', "/amountMinor"],
    ["more than an int64", '{"amountMinor":9223372036854775809}', "/amountMinor"],
    ["a float beyond all", '{"amountMinor":1e400}', "/amountMinor"],
    ["a numeric string", '{"amountMinor":"1"}', "/amountMinor"],
    ["null", '{"amountMinor":null}', "/amountMinor"],
    ["true", '{"amountMinor":true}', "/amountMinor"],
    ["an unknown reason", '{"reason":"mood"}', "/reason"],
    ["an empty reference", '{"refundRef":""}', "/refundRef"],
    ["a long reference", `{"refundRef":"${"x".repeat(81)}"}`, "/refundRef"],
    ["a NUL", '{"refundRef":"a\\u0000"}', "/refundRef"],
    ["half a character", '{"refundRef":"\\ud800"}', "/refundRef"],
  ])("refuses %s", async (_, body, pointer) => {
    const { status, json } = await refund(body);
    expect([status, json.errors]).toMatchObject([400, [{ pointer }]]);
  });

  it("refuses a second amount", async () => {
    const { status, json } = await refund('{"amountMinor":1,"amountMinor":4900}');
    expect([status, json.code]).toEqual([400, "duplicate_field"]);
  });

  it.each([
    ["no body", undefined, {}],
    ["an empty body of JSON", "", {}],
    ["only the type of a body", undefined, { "content-type": "application/json" }],
  ])("refuses %s: a client that lost it would refund everything", async (_, body, headers) => {
    const { status, json } = await edge.call("POST", `/payment-sessions/${sessionId}/refunds`, {
      ...(body !== undefined && { body }),
      headers: { "Idempotency-Key": systemRuntime.uuid(), ...headers },
    });
    expect([status, json.code]).toEqual([400, "missing_body"]);
  });

  it("needs a key, and one header of it", async () => {
    const { status, json } = await refund("{}", {});
    expect([status, json.code]).toEqual([400, "missing_idempotency_key"]);
    const odd = await refund("{}", { "Idempotency-Key": "x".repeat(256) });
    expect([odd.status, odd.json.code]).toEqual([400, "invalid_idempotency_key"]);
  });

  it("refunds nothing that was not captured, and knows no other session", async () => {
    const { status, json } = await refund("{}");
    expect([status, json.code]).toEqual([409, "not_refundable"]);
    for (const id of [encodeId("ps", systemRuntime.uuid()), encodeId("ref", systemRuntime.uuid()), "ps_"]) {
      const other = await refund("{}", undefined, id);
      expect([other.status, other.json.code]).toEqual([404, "not_found"]);
    }
  });
});
