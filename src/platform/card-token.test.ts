import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { credentialOf, makeCardToken, readCardToken } from "./card-token.ts";
import type { KeyRing } from "./secrets.ts";

const ring: KeyRing = { current: "1", keys: { 1: randomBytes(32) } };
const place = { environment: "test", sessionId: "ps_1" } as const;
const facts = { expiresAt: new Date("2026-01-02T03:04:05.678Z"), brand: "cartes_bancaires", firstDigits: "42424242" };
const token = makeCardToken(ring, place, facts);

describe("readCardToken()", () => {
  it("returns a fingerprint in both of its versions, in a token that a submission may carry", () => {
    const versions = [randomBytes(16).toString("hex"), randomBytes(16).toString("hex")];
    const fingerprint = { versions, isCounted: false };
    const made = makeCardToken(ring, place, { ...facts, fingerprint });
    expect(readCardToken(ring, place, made)).toEqual({ ...facts, fingerprint });
    // The length that SubmitPayment accepts.
    expect(made.length).toBeLessThanOrEqual(255);
    for (const version of versions) expect(made).not.toContain(version);
  });

  it("returns what the token was made with, at its place only", () => {
    expect(readCardToken(ring, place, token)).toEqual(facts);
    expect(readCardToken(ring, { ...place, sessionId: "ps_2" }, token)).toBeUndefined();
    expect(readCardToken(ring, { ...place, environment: "live" }, token)).toBeUndefined();
  });

  it.each([{ fingerprint: { versions: [randomBytes(16).toString("hex")], isCounted: true } }, {}])(
    "returns that a security code has to be typed first, with and without a fingerprint",
    (also) => {
      const needing = { ...facts, ...also, needsCode: true };
      expect(readCardToken(ring, place, makeCardToken(ring, place, needing))).toEqual(needing);
      expect(readCardToken(ring, place, makeCardToken(ring, place, { ...facts, ...also }))).toEqual({
        ...facts,
        ...also,
      });
    },
  );

  it("reads no token of another key, and of the keys of its ring each", () => {
    const turned: KeyRing = { current: "2", keys: { ...ring.keys, 2: randomBytes(32) } };
    expect(readCardToken(turned, place, token)).toEqual(facts);
    expect(readCardToken(turned, place, makeCardToken(turned, place, facts))).toEqual(facts);
    expect(readCardToken(ring, place, makeCardToken(turned, place, facts))).toBeUndefined();
    expect(readCardToken({ current: "1", keys: { 1: randomBytes(32) } }, place, token)).toBeUndefined();
  });

  it("reads none in which a bit was changed: neither its end, nor its card, nor its random part", () => {
    const bytes = Buffer.from(token.slice(4), "base64url");
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      expect(readCardToken(ring, place, `tok_${changed.toString("base64url")}`)).toBeUndefined();
    }
  });

  it("reads none that is the same bytes in other letters, which the vault would not find", () => {
    const padded = makeCardToken(ring, place, { ...facts, brand: "visa" });
    for (const other of [`${token}=`, `${token.slice(0, 9)}~${token.slice(9)}`, `TOK_${padded.slice(4)}`]) {
      expect(readCardToken(ring, place, other)).toBeUndefined();
    }
  });

  it.each(["", "tok_", "tok_1", "tok_probe", `tok_${"A".repeat(32)}`])("reads none in %j", (text) => {
    expect(readCardToken(ring, place, text)).toBeUndefined();
  });
});

describe("a wallet's token", () => {
  it.each([
    ["PAN", "wpn_", "42424242"],
    ["NETWORK_TOKEN", "wnt_", ""],
  ] as const)(
    "of a %s begins with %s, and is no card's, and no other one's, under another prefix",
    (credential, prefix, firstDigits) => {
      const versions = [randomBytes(16).toString("hex"), randomBytes(16).toString("hex")];
      const of = { ...facts, firstDigits, wallet: { name: "google_pay", credential } } as const;
      for (const also of [{}, { fingerprint: { versions, isCounted: true } }]) {
        const made = makeCardToken(ring, place, { ...of, ...also });
        expect(made.startsWith(prefix)).toBe(true);
        expect(made.length).toBeLessThanOrEqual(255);
        expect(credentialOf(made)).toBe(credential);
        const { fingerprint, ...read } = readCardToken(ring, place, made)!;
        expect(read).toEqual(of);
        if ("fingerprint" in also) expect(fingerprint).toEqual(also.fingerprint);
        for (const other of ["tok_", "wpn_", "wnt_"].filter((one) => one !== prefix))
          expect(readCardToken(ring, place, other + made.slice(4))).toBeUndefined();
      }
      expect(makeCardToken(undefined, place, of)).toMatch(new RegExp(`^${prefix}[\\w-]{32}$`));
    },
  );

  it("is known by its prefix alone", () => {
    expect(credentialOf(token)).toBeUndefined();
    for (const prefix of ["wpn_", "wnt_"]) expect(readCardToken(ring, place, prefix + token.slice(4))).toBeUndefined();
  });
});

describe("makeCardToken()", () => {
  it("makes another one each time, of letters that every log scrubs, in which nothing of the card shows", () => {
    const other = makeCardToken(ring, place, facts);
    expect(other).not.toBe(token);
    for (const each of [token, other]) {
      expect(each).toMatch(/^tok_[\w-]{100,251}$/);
      expect(Buffer.from(each.slice(4), "base64url").toString("latin1")).not.toContain(facts.firstDigits.slice(0, 6));
    }
  });

  it("makes tokens that say nothing without a ring", () => {
    const bare = makeCardToken(undefined, place, facts);
    expect(bare).toMatch(/^tok_[\w-]{32}$/);
    expect(readCardToken(ring, place, bare)).toBeUndefined();
  });
});
