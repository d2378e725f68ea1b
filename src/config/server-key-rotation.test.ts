import { sign, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { signPageToken, verifyPageToken } from "../core/page-token.ts";
import { makeCardToken, readCardToken } from "../platform/card-token.ts";
import { seal, unseal } from "../platform/secrets.ts";
import { fingerprintOf } from "../vault/card-store.ts";
import {
  rotateCardToken,
  rotateClientSecret,
  rotateFingerprint,
  rotatePageToken,
  rotateSealing,
  rotateSigning,
  rotateStoreRing,
  rotateVaultRing,
  rotateWalletRing,
} from "./server-key-rotation.ts";
import { generateKeyFile, generateVaultKeyFile, parseKeyFile, parseVaultKeys } from "./server-keys.ts";

const keys = JSON.parse(generateKeyFile("test"));
const vaultKeys = JSON.parse(generateVaultKeyFile(JSON.stringify(keys)));
const ringOf = (file: object) => parseVaultKeys(JSON.stringify(file), "test").ring;

describe("rotateVaultRing()", () => {
  it("lets every process open what every other one seals, at each step of a rolling restart", () => {
    const added = rotateVaultRing(vaultKeys, "add");
    const used = rotateVaultRing(added, "use");
    const dropped = rotateVaultRing(used, "drop");
    const neighbours = [
      [vaultKeys, added],
      [added, used],
      [used, dropped],
    ];
    for (const [before, after] of neighbours) {
      expect(unseal(ringOf(before), "card", seal(ringOf(after), "card", "x")).expose()).toBe("x");
    }
    for (const [before, after] of neighbours.slice(0, 2)) {
      expect(unseal(ringOf(after), "card", seal(ringOf(before), "card", "x")).expose()).toBe("x");
    }
    expect(() => unseal(ringOf(dropped), "card", seal(ringOf(added), "card", "x"))).toThrow("not in the ring");
  });

  it("refuses steps out of order", () => {
    const added = rotateVaultRing(vaultKeys, "add");
    expect(() => rotateVaultRing(vaultKeys, "use")).toThrow("add one first");
    expect(() => rotateVaultRing(added, "add")).toThrow("waits to be used");
    expect(() => rotateVaultRing(added, "drop")).toThrow("is not used yet");
  });
});

describe("rotateSigning()", () => {
  const verifies = (file: object, by: object) => {
    const { kid, privateKey } = parseKeyFile(JSON.stringify(by), "test").signing;
    const key = parseVaultKeys(JSON.stringify(file), "test").verification.find((candidate) => candidate.kid === kid);
    const word = Buffer.from("a word");
    return key !== undefined && verify(null, word, key.publicKey, sign(null, word, privateKey));
  };

  it("has the vault learn a key before the edge signs with it, and forget the old one last", () => {
    const added = rotateSigning({ keys, vaultKeys }, "add");
    const used = rotateSigning(added, "use");
    const dropped = rotateSigning(used, "drop");
    expect(verifies(added.vaultKeys, keys)).toBe(true);
    expect(verifies(added.vaultKeys, used.keys)).toBe(true);
    expect(verifies(dropped.vaultKeys, used.keys)).toBe(true);
    expect(verifies(dropped.vaultKeys, keys)).toBe(false);
    expect(JSON.stringify(dropped.vaultKeys)).not.toContain("PRIVATE");
  });
});

describe("rotateCardToken()", () => {
  const place = { environment: "test", sessionId: "ps_1" } as const;
  const facts = { expiresAt: new Date(), brand: "visa", firstDigits: "42424242" };
  type Files = ReturnType<typeof rotateCardToken>;
  const isRead = (edge: Files, vault: Files) => {
    const made = makeCardToken(parseVaultKeys(JSON.stringify(vault.vaultKeys), "test").cardToken, place, facts);
    const ring = parseKeyFile(JSON.stringify(edge.keys), "test").cardToken;
    return ring !== undefined && readCardToken(ring, place, made) !== undefined;
  };

  it("has the edge read what the vault seals, at each step and beside the step before", () => {
    const steps: Files[] = [{ keys, vaultKeys }];
    for (const step of ["add", "use", "drop"] as const) steps.push(rotateCardToken(steps.at(-1)!, step));
    const [first, added, used, dropped] = steps as [Files, Files, Files, Files];
    for (const files of steps) expect(isRead(files, files)).toBe(true);
    expect([isRead(added, first), isRead(added, used), isRead(used, added), isRead(dropped, used)]).toEqual(
      Array(4).fill(true),
    );
    expect(isRead(dropped, first)).toBe(false);
    expect(JSON.stringify(dropped.keys.cardToken)).toBe(JSON.stringify(dropped.vaultKeys.cardToken));
  });

  it("adds the first key to files from before it", () => {
    const { cardToken: _, ...old } = keys;
    const { cardToken: __, ...oldVault } = vaultKeys;
    const before = { keys: old, vaultKeys: oldVault };
    expect(isRead(before, before)).toBe(false);
    const added = rotateCardToken(before, "add");
    expect([isRead(added, added), isRead(before, added), isRead(added, before)]).toEqual([true, false, false]);
    for (const step of ["use", "drop"] as const) {
      expect(() => rotateCardToken(before, step)).toThrow("add one first");
    }
  });
});

describe("rotateFingerprint()", () => {
  const versionsOf = (file: object) => {
    const { ring, fingerprint } = parseVaultKeys(JSON.stringify(file), "test");
    return fingerprintOf({ environment: "test", ring, fingerprint }, { profile: "mer_1", number: "4242424242424242" })
      ?.versions;
  };

  it("has every vault find what every other one wrote, at each step", () => {
    const added = rotateFingerprint(vaultKeys, "add");
    const used = rotateFingerprint(added, "use");
    const dropped = rotateFingerprint(used, "drop");
    for (const [before, after] of [
      [vaultKeys, added],
      [added, used],
      [used, dropped],
    ]) {
      expect(versionsOf(after)!.some((version) => versionsOf(before)!.includes(version))).toBe(true);
    }
    expect(versionsOf(dropped)).toHaveLength(1);
    expect(versionsOf(vaultKeys)).not.toEqual(versionsOf(dropped));
  });

  it("adds the first key to a file from before it", () => {
    const { fingerprint: _, ...old } = vaultKeys;
    expect(versionsOf(old)).toBeUndefined();
    expect(() => rotateFingerprint(old, "use")).toThrow("add one first");
    expect(versionsOf(rotateFingerprint(old, "add"))).toHaveLength(1);
  });
});

describe("rotateStoreRing()", () => {
  const storeRingOf = (file: object) => parseVaultKeys(JSON.stringify(file), "test").storeRing;

  it("lets every vault open what every other one stores, at each step until the old key is dropped", () => {
    const added = rotateStoreRing(vaultKeys, "add");
    const used = rotateStoreRing(added, "use");
    const dropped = rotateStoreRing(used, "drop");
    for (const [from, to] of [
      [vaultKeys, added],
      [added, vaultKeys],
      [added, used],
      [used, added],
      [used, dropped],
    ]) {
      expect(unseal(storeRingOf(to)!, "card", seal(storeRingOf(from)!, "card", "x")).expose()).toBe("x");
    }
    expect(Object.keys(storeRingOf(dropped)!.keys)).toEqual(["store-test-2"]);
  });

  it("adds the first key to a file from before it", () => {
    const { storeRing: _, ...old } = vaultKeys;
    expect(() => rotateStoreRing(old, "use")).toThrow("add one first");
    expect(storeRingOf(rotateStoreRing(old, "add"))?.current).toBe("store-test-1");
  });
});

describe("rotateClientSecret()", () => {
  it("keeps the version of running sessions until it is dropped", () => {
    const used = rotateClientSecret(rotateClientSecret(keys, "add"), "use");
    const { clientSecret } = parseKeyFile(JSON.stringify(used), "test");
    expect([clientSecret.current, [...clientSecret.keys.keys()]]).toEqual([2, [1, 2]]);
    const dropped = parseKeyFile(JSON.stringify(rotateClientSecret(used, "drop")), "test");
    expect([...dropped.clientSecret.keys.keys()]).toEqual([2]);
  });
});

describe("rotatePageToken()", () => {
  const keysOf = (file: object) => parseKeyFile(JSON.stringify(file), "test").pageToken;
  const page = { scope: "a list", now: new Date("2026-01-01T00:00:00Z") };
  const isTaken = (by: object, token: string) => {
    try {
      return verifyPageToken(keysOf(by), { ...page, token }) === "row_1";
    } catch {
      return false;
    }
  };

  it.each([
    ["a new file", keys],
    ["a file of the first version", { ...keys, pageToken: Object.values(keys.pageToken.keys)[0] }],
  ])("lets every process read every other one's tokens at each step, from %s on", (_what, first) => {
    const added = rotatePageToken(first, "add");
    const used = rotatePageToken(added, "use");
    const dropped = rotatePageToken(used, "drop");
    const signedBy = (file: object) => signPageToken(keysOf(file), { ...page, lastId: "row_1" });
    const neighbours = [
      [first, added],
      [added, used],
    ] as const;
    for (const [before, after] of neighbours) {
      expect([isTaken(after, signedBy(before)), isTaken(before, signedBy(after))]).toEqual([true, true]);
    }
    expect([isTaken(dropped, signedBy(used)), isTaken(dropped, signedBy(first))]).toEqual([true, false]);
  });
});

describe("rotateSealing()", () => {
  it("seals with the new key once it is in use, and opens values of the old one until it is dropped", () => {
    const used = rotateSealing(rotateSealing(keys, "add"), "use");
    const ring = (file: object) => parseKeyFile(JSON.stringify(file), "test").sealing;
    expect(seal(ring(used), "row", "x")).toMatch(/^sealing-test-2\./);
    const old = seal(ring(keys), "row", "x");
    expect(unseal(ring(used), "row", old).expose()).toBe("x");
    expect(() => unseal(ring(rotateSealing(used, "drop")), "row", old)).toThrow("not in the ring");
  });
});

describe("rotateWalletRing()", () => {
  const walletRingOf = (file: object) => parseVaultKeys(JSON.stringify(file), "test").walletRing;

  it("adds, uses and drops a key, the first one of a file from before it too", () => {
    const steps = (["add", "use", "drop"] as const).reduce(rotateWalletRing, vaultKeys);
    expect(Object.keys(walletRingOf(steps)!.keys)).toEqual(["wallet-test-2"]);
    const { walletRing: _, ...old } = vaultKeys;
    expect(walletRingOf(rotateWalletRing(old, "add"))?.current).toBe("wallet-test-1");
  });
});
