import { describe, expect, it } from "vitest";
import { findLeaks, requireCleanOutput } from "./clean-output.ts";

const lineWith = (problem: string) => `${JSON.stringify({ level: 50, problem, msg: "a turn failed" })}\n`;

describe("findLeaks()", () => {
  it.each([
    ["a card number", "4242424242424242"],
    ["a card number", "4000 0000 0000 0002"],
    ["a card number", Buffer.from("378282246310005").toString("base64")],
    ["a security code", '"cvc":"737"'],
    ["a security code", "cvc=7391&x"],
    ["a secret key", "switchyard_test_sk_3Jk8Zq1Lm5Np7Rs9Tv2Wx4Yb6Cd8Fg0H"],
    ["a secret key", "switchyard_live_rk_3Jk8Zq1Lm5Np7Rs9Tv2Wx4Yb6Cd8Fg0H"],
    ["a gateway's key", "sk_test_51H8aaaaaaaa"],
    ["a gateway's key", "rk_live_51H8aaaaaaaa"],
    ["a signing secret", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="],
    ["a client secret", "ps_01h2xcejqtf2nbrexx3vqjhp41_secret_t1_2qk3h4j5k6l7"],
    ["a vault token", "tok_aaaabbbbccccddddeeeeffff"],
    ["a signed token", "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJwc18x.c2ln"],
    ["an authorization", "Bearer abcd1efgh"],
    ["an address with a password", "postgres://edge:hunter22@127.0.0.1/live"],
    ["an e-mail address", "ada@mail.example"],
    ["a secret of this installation", "Tr0ub4dor-and-3"],
  ])("finds %s in a line, and names the line and not the value", (what, value) => {
    const text = lineWith("all is well") + lineWith(`it was ${value}`);
    const leaks = findLeaks({ where: "edge.log", text }, ["Tr0ub4dor-and-3"]);
    expect(leaks).toContain(`edge.log: ${what} in the line "a turn failed"`);
    expect(leaks.join()).not.toContain(value);
  });

  it("finds output that bypassed the log, and fields that were dropped", () => {
    const printed = "Error: no card 4242424242424242\n    at pay (file:///srv/src/core/submit-payment.ts:1:1)\n";
    expect(() => requireCleanOutput([{ where: "vault.log", text: printed }])).toThrow(
      "vault.log: a card number in text that is no log line",
    );
    const dropped = `${JSON.stringify({ level: 50, dropped: ["email"], msg: "a turn failed" })}\n`;
    expect(findLeaks({ where: "edge.log", text: dropped })).toEqual([
      'edge.log: a field that no line may carry in the line "a turn failed"',
    ]);
  });

  it("finds nothing in permitted output", () => {
    const texts = [
      "connect ECONNREFUSED 127.0.0.1:5432",
      "at file:///srv/node_modules/@mikro-orm/core/Connection.js:120:15",
      "postgres://****@db.internal/live, Bearer ****, ps_01h2xcejqtf2nbrexx3vqjhp41, switchyard_test_pk_3Jk8Zq1Lm5",
    ];
    expect(texts.flatMap((text) => findLeaks({ where: "edge.log", text: lineWith(text) }))).toEqual([]);
  });
});
