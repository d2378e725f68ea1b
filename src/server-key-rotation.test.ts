import { sign, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { seal, unseal } from "./platform/secrets.ts";
import { rotateClientSecret, rotateSigning, rotateVaultRing } from "./server-key-rotation.ts";
import { generateKeyFile, generateVaultKeyFile, parseKeyFile, parseVaultKeys } from "./server-keys.ts";

const keys = JSON.parse(generateKeyFile("test"));
const vaultKeys = JSON.parse(generateVaultKeyFile(JSON.stringify(keys)));
const ringOf = (file: object) => parseVaultKeys(JSON.stringify(file), "test").ring;

describe("rotateVaultRing()", () => {
  it("lets every copy open what every other copy seals, at each step of a rolling restart", () => {
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

  it("refuses steps out of turn", () => {
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

  it("has the vault know a key before the edge signs with it, and forget the old one last", () => {
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

describe("rotateClientSecret()", () => {
  it("keeps the version that running sessions were made with until it is dropped", () => {
    const used = rotateClientSecret(rotateClientSecret(keys, "add"), "use");
    const { clientSecret } = parseKeyFile(JSON.stringify(used), "test");
    expect([clientSecret.current, [...clientSecret.keys.keys()]]).toEqual([2, [1, 2]]);
    const dropped = parseKeyFile(JSON.stringify(rotateClientSecret(used, "drop")), "test");
    expect([...dropped.clientSecret.keys.keys()]).toEqual([2]);
  });
});
