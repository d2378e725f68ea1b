/** Tokens that another implementation signs: which ones are accepted, and what each rule refuses. */
import { createHmac, generateKeyPairSync, type KeyObject } from "node:crypto";
import { SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type EnvironmentName, verifyClaims } from "./signed-claims.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const liveKey = generateKeyPairSync("ed25519");
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const keys = [
  { kid: "k", environment: "test" as const, publicKey },
  { kid: "k", environment: "live" as const, publicKey: liveKey.publicKey },
  { kid: "rsa", environment: "test" as const, publicKey: rsa.publicKey },
];
const now = Math.floor(Date.now() / 1_000);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: now * 1_000 }));
afterEach(() => void vi.useRealTimers());

const audienceOf = (environment: EnvironmentName) => `edge:${environment}`;
const verified = (token: string, more: { ageMaxSeconds?: number; audienceOf?: typeof audienceOf } = {}) =>
  verifyClaims(token, { keys, typ: "a+jwt", ...more });
const outcomeOf = (token: string, more?: Parameters<typeof verified>[1]) => verified(token, more).refused ?? "valid";

function sign(
  claims: Record<string, unknown>,
  { header = {}, by = privateKey }: { header?: Record<string, unknown>; by?: KeyObject } = {},
): Promise<string> {
  const protectedHeader = { alg: "EdDSA", kid: "k", typ: "a+jwt", ...header };
  return new SignJWT({ exp: now + 60, ...claims }).setProtectedHeader(protectedHeader).sign(by, {
    crit: { example: true },
  });
}

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString("base64url");

describe("verifyClaims()", () => {
  it("returns what a known key has signed, however the media type is written", async () => {
    expect(verified(await sign({ word: "w" }))).toMatchObject({ claims: { word: "w", exp: now + 60 }, key: keys[0] });
    expect(outcomeOf(await sign({}, { header: { typ: "application/A+JWT" } }))).toBe("valid");
  });

  it("refuses a change of any part", async () => {
    const [head, body, signature] = (await sign({ word: "w" })).split(".");
    expect(outcomeOf([head, encode({ word: "x", exp: now + 60 }), signature].join("."))).toBe("unknown_key");
    expect(outcomeOf([encode({ alg: "EdDSA", kid: "k", typ: "a+jwt " }), body, signature].join("."))).toBe(
      "unknown_key",
    );
    expect(outcomeOf([head, body, `A${signature!.slice(1)}`].join("."))).toBe("unknown_key");
    expect(outcomeOf([head, body, ""].join("."))).toBe("malformed");
  });

  it("refuses every other algorithm, with the public key as its secret too", async () => {
    const secret = publicKey.export({ type: "spki", format: "der" });
    for (const alg of ["none", "HS256", "Ed25519", undefined]) {
      const input = `${encode({ alg, kid: "k", typ: "a+jwt" })}.${encode({ exp: now + 60 })}`;
      expect(outcomeOf(`${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`)).toBe("malformed");
    }
    const byRsa = await new SignJWT({ exp: now + 60 }).setProtectedHeader({ alg: "RS256" }).sign(rsa.privateKey);
    const [, body] = byRsa.split(".");
    expect(outcomeOf(`${encode({ alg: "EdDSA", kid: "rsa", typ: "a+jwt" })}.${body}.AAAA`)).toBe("unknown_key");
  });

  it("refuses an extension that it does not know", async () => {
    expect(outcomeOf(await sign({}, { header: { crit: ["example"], example: 1 } }))).toBe("malformed");
  });

  it("refuses unknown keys, and claims of another kind", async () => {
    expect(outcomeOf(await sign({}, { by: liveKey.privateKey }))).toBe("unknown_key");
    expect(outcomeOf(await sign({}, { header: { kid: "other" } }))).toBe("unknown_key");
    expect(outcomeOf(await sign({}, { header: { typ: "b+jwt" } }))).toBe("malformed");
  });

  it("selects the key of the audience's environment", async () => {
    const forLive = await sign({ aud: "edge:live" }, { by: liveKey.privateKey });
    expect(verified(forLive, { audienceOf })).toMatchObject({ key: { environment: "live" } });
    expect(outcomeOf(await sign({ aud: "edge:live" }), { audienceOf })).toBe("unknown_key");
    expect(outcomeOf(await sign({ aud: "edge:other" }), { audienceOf })).toBe("unknown_key");
  });

  it.each([
    ["valid", { exp: now - 4 }],
    ["clock", { exp: now - 5 }],
    ["malformed", { exp: String(now + 60) }],
    ["malformed", { exp: undefined }],
    ["valid", { nbf: now + 5 }],
    ["clock", { nbf: now + 6 }],
    ["malformed", { nbf: "soon" }],
    ["malformed", { iat: "now" }],
    ["valid", { iat: now + 3_600 }],
  ])("is %s with %j", async (outcome, claims) => {
    expect(outcomeOf(await sign(claims))).toBe(outcome);
  });

  it.each([
    ["valid", { iat: now - 25 }],
    ["clock", { iat: now - 26 }],
    ["valid", { iat: now + 5 }],
    ["clock", { iat: now + 6 }],
    ["malformed", {}],
  ])("is %s where claims may be 20 s old, with %j", async (outcome, claims) => {
    expect(outcomeOf(await sign(claims), { ageMaxSeconds: 20 })).toBe(outcome);
  });

  it.each([
    "",
    "x",
    "a.b.c",
    "...",
    "a.b.c.d",
    `${encode([])}.${encode({})}.AAAA`,
    `${encode({ alg: "EdDSA" })}.bm8.AAAA`,
  ])("refuses %j", (text) => {
    expect(outcomeOf(text)).toBe("malformed");
  });
});
