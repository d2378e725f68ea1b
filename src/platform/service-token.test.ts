import { generateKeyPairSync } from "node:crypto";
import { SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  claimTypes,
  ServiceTokenVerifier,
  serviceTokenLifetimeSeconds,
  verifyFramePolicy,
  verifySessionGrant,
} from "./service-token.ts";
import { createServiceTokens, type SigningKey, signFramePolicy, signSessionGrant } from "./service-token-signing.ts";
import type { EnvironmentName, VerificationKey } from "./signed-claims.ts";
import { orderHashOf } from "./wallets.ts";

const pairOf = (kid: string, environment: EnvironmentName) => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return { signing: { kid, environment, privateKey }, verification: { kid, environment, publicKey } };
};
const test = pairOf("t1", "test");
const live = pairOf("l1", "live");
const keys = [test.verification, live.verification];
const serviceOrigin = "https://pay.example";
const inOneMinute = () => new Date(Math.floor(Date.now() / 1000) * 1000 + 60_000);
const oneMinuteAgo = () => new Date(Date.now() - 60_000);

const signServiceToken = (key: SigningKey) => createServiceTokens(key)();
const verifyServiceToken = (known: readonly VerificationKey[], token: string) =>
  new ServiceTokenVerifier(known).verify(token);
const environmentOf = async (known: readonly VerificationKey[], token: string) => {
  const check = await verifyServiceToken(known, token);
  return check.type === "valid" ? check.environment : undefined;
};

describe("a service token", () => {
  it("returns the environment of the key that signed", async () => {
    expect(await environmentOf(keys, signServiceToken(test.signing))).toBe("test");
    expect(await environmentOf(keys, signServiceToken(live.signing))).toBe("live");
  });

  it("refuses a test key's token for the live audience", async () => {
    const token = signServiceToken({ ...test.signing, environment: "live" });
    expect(await environmentOf(keys, token)).toBeUndefined();
  });

  it("refuses an unknown key, and text that is not a token", async () => {
    const stranger = pairOf("t1", "test");
    expect(await environmentOf(keys, signServiceToken(stranger.signing))).toBeUndefined();
    expect(await environmentOf([], signServiceToken(test.signing))).toBeUndefined();
    for (const text of ["", "x", "a.b.c", "..."]) expect(await environmentOf(keys, text)).toBeUndefined();
  });

  it("refuses a token without an expiry, and an expired one", async () => {
    const header = { alg: "EdDSA", kid: "t1", typ: claimTypes.serviceToken };
    const token = () => new SignJWT().setProtectedHeader(header).setAudience("vault:test");
    expect(await environmentOf(keys, await token().sign(test.signing.privateKey))).toBeUndefined();
    const over = await token().setExpirationTime(oneMinuteAgo()).sign(test.signing.privateKey);
    expect(await environmentOf(keys, over)).toBeUndefined();
  });

  it("is valid for a short time after it is signed, whatever expiry it names", async () => {
    const now = Math.floor(Date.now() / 1_000);
    const header = { alg: "EdDSA", kid: "t1", typ: claimTypes.serviceToken };
    const endless = (issuedAt?: number) => {
      const token = new SignJWT().setProtectedHeader(header).setAudience("vault:test").setExpirationTime("10y");
      return (issuedAt === undefined ? token : token.setIssuedAt(issuedAt)).sign(test.signing.privateKey);
    };
    expect(await environmentOf(keys, await endless(now))).toBe("test");
    expect(await environmentOf(keys, await endless(now - serviceTokenLifetimeSeconds - 10))).toBeUndefined();
    expect(await environmentOf(keys, await endless(now + 3_600))).toBeUndefined();
    expect(await environmentOf(keys, await endless())).toBeUndefined();
  });
});

describe("a refused service token", () => {
  // A whole second, as the token's time is: its age is exact. The clock stands still.
  const now = Math.floor(Date.now() / 1_000) * 1_000;
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now }));
  afterEach(() => void vi.useRealTimers());

  const issuedAt = (seconds: number) => {
    vi.useFakeTimers({ toFake: ["Date"], now: now + seconds * 1_000 });
    const token = signServiceToken(test.signing);
    vi.useRealTimers();
    return token;
  };

  it.each([
    ["clock", "it was made 30 s ahead of this machine's clock", issuedAt(30.5)],
    ["clock", "it was made 60 s behind this machine's clock", issuedAt(-60)],
    ["unknown_key", "no key that the vault knows", signServiceToken(pairOf("t1", "test").signing)],
    ["unknown_key", "no key that the vault knows", signServiceToken(pairOf("t2", "test").signing)],
    ["unknown_key", "another environment", signServiceToken({ ...test.signing, environment: "live" })],
    ["malformed", "it is no service token", "a.b.c"],
    [
      "malformed",
      "it is no service token",
      signFramePolicy(test.signing, { origins: [], serviceOrigin, expiresAt: inOneMinute() }),
    ],
  ])("names the reason: %s, %s", async (kind, reason, token) => {
    const check = await verifyServiceToken(keys, token);
    expect(check).toEqual({ type: "refused", kind, reason: expect.stringContaining(reason) });
    expect(JSON.stringify(check)).not.toContain(token);
  });
});

describe("ServiceTokenVerifier", () => {
  const start = Math.floor(Date.now() / 1_000) * 1_000;
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: start }));
  afterEach(() => void vi.useRealTimers());
  const remembered = async (token: string) => {
    // Without keys it accepts only what it remembers.
    const known: VerificationKey[] = [test.verification];
    const verifier = new ServiceTokenVerifier(known);
    const first = await verifier.verify(token);
    return { first, verifier, known };
  };

  it("remembers a valid token, and refuses it from its end on", async () => {
    const { first, verifier, known } = await remembered(signServiceToken(test.signing));
    known.length = 0;
    const endsAt = first.type === "valid" ? first.endsAt.getTime() : 0;
    expect(first).toEqual({ type: "valid", environment: "test", endsAt: new Date(start + 25_000) });
    const token = signServiceToken(test.signing);
    vi.setSystemTime(endsAt - 1);
    expect(await verifier.verify(token)).toEqual(first);
    vi.setSystemTime(endsAt);
    expect(await verifier.verify(token)).toMatchObject({ type: "refused" });
  });

  it("gives the reason when a remembered token has ended, or the clock was set back before it", async () => {
    const token = signServiceToken(test.signing);
    const { first, verifier } = await remembered(token);
    expect(first).toMatchObject({ type: "valid" });
    for (const [seconds, reason] of [
      [60, "60 s behind"],
      [-60, "60 s ahead of"],
    ] as const) {
      vi.setSystemTime(start + seconds * 1_000);
      const refusal = { type: "refused", kind: "clock", reason: expect.stringContaining(reason) };
      expect(await verifier.verify(token)).toEqual(refusal);
    }
  });

  it("remembers no refused token", async () => {
    const stranger = pairOf("t2", "test");
    const token = signServiceToken(stranger.signing);
    const { first, verifier, known } = await remembered(token);
    expect(first).toMatchObject({ type: "refused", kind: "unknown_key" });
    known.push(stranger.verification);
    expect(await verifier.verify(token)).toMatchObject({ type: "valid" });
  });

  it("remembers at most 256 tokens: the oldest is verified again", async () => {
    const tokenOf = (id: number) =>
      new SignJWT({ jti: String(id) })
        .setProtectedHeader({ alg: "EdDSA", kid: "t1", typ: claimTypes.serviceToken })
        .setAudience("vault:test")
        .setIssuedAt()
        .setExpirationTime("10s")
        .sign(test.signing.privateKey);
    const tokens = await Promise.all(Array.from({ length: 257 }, (_, id) => tokenOf(id)));
    const { verifier, known } = await remembered(tokens[0]!);
    for (const token of tokens.slice(1)) await verifier.verify(token);
    known.length = 0;
    const checks = await Promise.all(tokens.map((token) => verifier.verify(token)));
    expect(checks.map(({ type }) => type)).toEqual(["refused", ...Array(256).fill("valid")]);
  });
});

describe("createServiceTokens()", () => {
  const start = Math.floor(Date.now() / 1_000) * 1_000;
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: start }));
  afterEach(() => void vi.useRealTimers());

  it("returns one token for a second, and never one of the future", async () => {
    const next = createServiceTokens(test.signing);
    const first = next();
    vi.setSystemTime(start + 999);
    expect(next()).toBe(first);
    vi.setSystemTime(start + 1_000);
    const second = next();
    expect(second).not.toBe(first);
    expect(await environmentOf(keys, second)).toBe("test");
    vi.setSystemTime(start - 60_000);
    expect(await environmentOf(keys, next())).toBe("test");
  });
});

describe("verifySessionGrant()", () => {
  const claims = { session: "ps_1", profile: "mer_1", origins: ["https://shop.example"] };

  it("returns the signed content", async () => {
    const expiresAt = inOneMinute();
    const grant = await signSessionGrant(test.signing, { ...claims, expiresAt });
    expect(await verifySessionGrant(keys, grant)).toEqual({ environment: "test", ...claims, expiresAt });
  });

  it("refuses one that has expired, or names another environment than its key's", async () => {
    const over = await signSessionGrant(test.signing, { ...claims, expiresAt: oneMinuteAgo() });
    const crossing = await signSessionGrant(
      { ...test.signing, environment: "live" },
      { ...claims, expiresAt: inOneMinute() },
    );
    expect(await verifySessionGrant(keys, over)).toBeUndefined();
    expect(await verifySessionGrant(keys, crossing)).toBeUndefined();
  });

  it("returns the order that a wallet may pay, whole or not at all", () => {
    const order = { hash: orderHashOf("mer_1", "order-1"), amountMinor: 4_900, currency: "EUR" };
    const of = (change: object) =>
      verifySessionGrant(
        keys,
        signSessionGrant(test.signing, { ...claims, expiresAt: inOneMinute(), order: { ...order, ...change } }),
      );
    expect(of({})?.order).toEqual(order);
    for (const broken of [{ hash: "" }, { amountMinor: 1.5 }, { currency: undefined }]) {
      const grant = of(broken);
      expect(grant).toBeDefined();
      expect(grant?.order).toBeUndefined();
    }
  });

  it("accepts neither a policy nor a service token as a grant", async () => {
    const policy = await signFramePolicy(test.signing, { origins: [], serviceOrigin, expiresAt: inOneMinute() });
    expect(await verifySessionGrant(keys, policy)).toBeUndefined();
    expect(await verifySessionGrant(keys, signServiceToken(test.signing))).toBeUndefined();
  });
});

describe("verifyFramePolicy()", () => {
  const sign = (origins: readonly string[], expiresAt = inOneMinute(), service = serviceOrigin) =>
    signFramePolicy(test.signing, { origins, serviceOrigin: service, expiresAt });

  it("returns the signed origins", async () => {
    const origins = [
      "https://shop.example",
      "http://localhost:3000",
      "https://xn--bcher-kva.example",
      "http://[::1]:3000",
    ];
    const policy = await verifyFramePolicy(keys, await sign(origins));
    expect(policy).toMatchObject({ origins, serviceOrigin });
  });

  it.each([
    "https://shop.example/",
    "https://shop.example; script-src *",
    // URLs take these in a host, and serialize them unchanged.
    "https://shop.example;sandbox",
    'https://shop.example"http-equiv=refresh',
    "https://*.example",
    "*",
    "null",
    "javascript:alert(1)",
    "https:",
  ])("refuses a policy with %s as an origin, even signed", async (origin) => {
    expect(await verifyFramePolicy(keys, await sign([origin]))).toBeUndefined();
    expect(await verifyFramePolicy(keys, await sign([], inOneMinute(), origin))).toBeUndefined();
  });

  it("refuses one that has expired, and a grant", async () => {
    const grant = await signSessionGrant(test.signing, {
      session: "s",
      profile: "p",
      origins: [],
      expiresAt: inOneMinute(),
    });
    expect(await verifyFramePolicy(keys, await sign([], oneMinuteAgo()))).toBeUndefined();
    expect(await verifyFramePolicy(keys, grant)).toBeUndefined();
  });
});
