import { describe, expect, it } from "vitest";
import { systemRuntime } from "../platform/runtime.ts";
import { sendWebhook } from "./deliver.ts";

async function excerpt(body: string | Uint8Array): Promise<string | undefined> {
  const post = async () => ({ statusCode: 400, retryAfter: undefined, bodyStart: Buffer.from(body) });
  const webhook = { url: "https://shop.example.com/", eventId: "evt_1", body: Buffer.from("{}"), secrets: [] };
  const attempt = await sendWebhook({ egress: { post }, runtime: systemRuntime }, webhook);
  return attempt.type === "answered" ? attempt.answer : undefined;
}

describe("sendWebhook(), of an answer's body,", () => {
  it("keeps text that helps to find the mistake", async () => {
    expect(await excerpt('{"error":"order 1042 unknown"}\n')).toBe('{"error":"order 1042 unknown"}\n');
  });

  it("blanks card numbers and secrets", async () => {
    expect(await excerpt("card 4111 1111 1111 1111 refused")).toBe("card [redacted] refused");
    expect(await excerpt("4111-1111-1111-1111")).toBe("[redacted]");
    expect(await excerpt("bad secret switchyard_test_whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw!")).toBe(
      "bad secret [redacted]!",
    );
    expect(await excerpt("switchyard_live_sk_0123456789abcdefghij")).toBe("[redacted]");
    expect(await excerpt("switchyard_live_rk_0123456789abcdefghij")).toBe("[redacted]");
  });

  it("drops characters that no text column accepts, and tolerates bytes that are not text", async () => {
    expect(await excerpt("a\u0000b\u001b[31mc")).toBe("ab[31mc");
    expect(await excerpt("a\u009b31mb\u202ec\u2069d")).toBe("a31mbcd");
    expect(await excerpt(Uint8Array.of(0x61, 0xff, 0xe2, 0x82))).toBe("a\ufffd\ufffd");
  });
});
