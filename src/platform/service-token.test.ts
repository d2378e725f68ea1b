import { generateKeyPairSync } from "node:crypto";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import {
  claimTypes,
  type EnvironmentName,
  verifyFramePolicy,
  verifyServiceToken,
  verifySessionGrant,
} from "./service-token.ts";
import { signFramePolicy, signServiceToken, signSessionGrant } from "./service-token-signing.ts";

const pairOf = (kid: string, environment: EnvironmentName) => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return { signing: { kid, environment, privateKey }, verification: { kid, environment, publicKey } };
};
const test = pairOf("t1", "test");
const live = pairOf("l1", "live");
const keys = [test.verification, live.verification];
const inOneMinute = () => new Date(Math.floor(Date.now() / 1000) * 1000 + 60_000);
const oneMinuteAgo = () => new Date(Date.now() - 60_000);

describe("verifyServiceToken()", () => {
  it("names the environment of the key that signed", async () => {
    expect(await verifyServiceToken(keys, await signServiceToken(test.signing))).toBe("test");
    expect(await verifyServiceToken(keys, await signServiceToken(live.signing))).toBe("live");
  });

  it("refuses a test key's token for the live audience", async () => {
    const token = await signServiceToken({ ...test.signing, environment: "live" });
    expect(await verifyServiceToken(keys, token)).toBeUndefined();
  });

  it("refuses a key that it was not given, and text that is no token", async () => {
    const stranger = pairOf("t1", "test");
    expect(await verifyServiceToken(keys, await signServiceToken(stranger.signing))).toBeUndefined();
    expect(await verifyServiceToken([], await signServiceToken(test.signing))).toBeUndefined();
    for (const text of ["", "x", "a.b.c", "..."]) expect(await verifyServiceToken(keys, text)).toBeUndefined();
  });

  it("refuses a token without an end, and one that is over", async () => {
    const header = { alg: "EdDSA", kid: "t1", typ: claimTypes.serviceToken };
    const token = () => new SignJWT().setProtectedHeader(header).setAudience("vault:test");
    expect(await verifyServiceToken(keys, await token().sign(test.signing.privateKey))).toBeUndefined();
    const over = await token().setExpirationTime(oneMinuteAgo()).sign(test.signing.privateKey);
    expect(await verifyServiceToken(keys, over)).toBeUndefined();
  });
});

describe("verifySessionGrant()", () => {
  const claims = { session: "ps_1", profile: "mer_1", origins: ["https://shop.example"] };

  it("gives what was signed", async () => {
    const expiresAt = inOneMinute();
    const grant = await signSessionGrant(test.signing, { ...claims, expiresAt });
    expect(await verifySessionGrant(keys, grant)).toEqual({ environment: "test", ...claims, expiresAt });
  });

  it("refuses one that is over, or says the other environment than its key", async () => {
    const over = await signSessionGrant(test.signing, { ...claims, expiresAt: oneMinuteAgo() });
    const crossing = await signSessionGrant(
      { ...test.signing, environment: "live" },
      { ...claims, expiresAt: inOneMinute() },
    );
    expect(await verifySessionGrant(keys, over)).toBeUndefined();
    expect(await verifySessionGrant(keys, crossing)).toBeUndefined();
  });

  it("takes neither a policy nor a service token for a grant", async () => {
    const policy = await signFramePolicy(test.signing, { origins: [], expiresAt: inOneMinute() });
    expect(await verifySessionGrant(keys, policy)).toBeUndefined();
    expect(await verifySessionGrant(keys, await signServiceToken(test.signing))).toBeUndefined();
  });
});

describe("verifyFramePolicy()", () => {
  const sign = (origins: readonly string[], expiresAt = inOneMinute()) =>
    signFramePolicy(test.signing, { origins, expiresAt });

  it("gives the origins that were signed", async () => {
    const policy = await verifyFramePolicy(keys, await sign(["https://shop.example", "http://localhost:3000"]));
    expect(policy?.origins).toEqual(["https://shop.example", "http://localhost:3000"]);
  });

  it.each([
    "https://shop.example/",
    "https://shop.example; script-src *",
    "*",
    "null",
    "javascript:alert(1)",
    "https:",
  ])("refuses a policy with %s for an origin, even signed", async (origin) => {
    expect(await verifyFramePolicy(keys, await sign([origin]))).toBeUndefined();
  });

  it("refuses one that is over, and a grant", async () => {
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
