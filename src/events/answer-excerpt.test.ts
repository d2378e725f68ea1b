import { describe, expect, it } from "vitest";
import { excerptAnswer } from "./answer-excerpt.ts";

const excerpt = (text: string) => excerptAnswer(Buffer.from(text));

describe("excerptAnswer()", () => {
  it("keeps text that helps to find the mistake", () => {
    expect(excerpt('{"error":"order 1042 unknown"}\n')).toBe('{"error":"order 1042 unknown"}\n');
  });

  it("blanks card numbers and secrets", () => {
    expect(excerpt("card 4111 1111 1111 1111 refused")).toBe("card [redacted] refused");
    expect(excerpt("4111-1111-1111-1111")).toBe("[redacted]");
    expect(excerpt("bad secret switchyard_test_whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw!")).toBe(
      "bad secret [redacted]!",
    );
    expect(excerpt("switchyard_live_sk_0123456789abcdefghij")).toBe("[redacted]");
  });

  it("drops characters that no text column accepts, and tolerates bytes that are not text", () => {
    expect(excerpt("a\u0000b\u001b[31mc")).toBe("ab[31mc");
    expect(excerpt("a\u009b31mb\u202ec\u2069d")).toBe("a31mbcd");
    expect(excerptAnswer(Uint8Array.of(0x61, 0xff, 0xe2, 0x82))).toBe("a\ufffd\ufffd");
  });
});
