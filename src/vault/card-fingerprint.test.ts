import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { fingerprintOf } from "./card-store.ts";
import type { VaultEnvironment } from "./vault-config.ts";

const ring = { current: "1", keys: { 1: randomBytes(32) } };
const test: VaultEnvironment = { environment: "test", ring, fingerprint: ring };
const card = { profile: "mer_1", number: "4242424242424242" };
const versionsOf = (vault: VaultEnvironment, change = {}) => fingerprintOf(vault, { ...card, ...change })!.versions;

it("fingerprintOf() is the same for a number of one merchant and environment, and for no other", () => {
  const [fingerprint] = versionsOf(test);
  expect(fingerprint).toMatch(/^[0-9a-f]{32}$/);
  expect(versionsOf(test)).toEqual([fingerprint]);
  const others = [
    versionsOf(test, { number: "4242424242424259" }),
    versionsOf(test, { profile: "mer_2" }),
    versionsOf({ ...test, environment: "live" }),
    versionsOf({ ...test, fingerprint: { current: "1", keys: { 1: randomBytes(32) } } }),
  ];
  expect(new Set([fingerprint, ...others.flat()]).size).toBe(5);
});

it("fingerprintOf() has both versions while a key replaces another, so that each finds the other's", () => {
  const both = { ...ring.keys, 2: randomBytes(32) };
  const added = versionsOf({ ...test, fingerprint: { current: "1", keys: both } });
  const used = versionsOf({ ...test, fingerprint: { current: "2", keys: both } });
  expect(added[0]).toBe(versionsOf(test)[0]);
  expect(used).toEqual(added.toReversed());
  expect(versionsOf({ ...test, fingerprint: { current: "2", keys: { 2: both[2] } } })).toEqual([used[0]]);
});

it("fingerprintOf() counts every card, unless the environment has test cards for it", () => {
  expect(fingerprintOf(test, card)!.isCounted).toBe(true);
  const countedCards = new Set(["4000000000008401"]);
  expect(fingerprintOf({ ...test, countedCards }, card)!.isCounted).toBe(false);
  expect(fingerprintOf({ ...test, countedCards }, { ...card, number: "4000000000008401" })!.isCounted).toBe(true);
});

it("fingerprintOf() makes none without a key", () => {
  expect(fingerprintOf({ environment: "test", ring }, card)).toBeUndefined();
});
