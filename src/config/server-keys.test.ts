import { sign, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  generateKeyFile,
  generateVaultKeyFile,
  parseKeyFile,
  parseVaultKeys,
  separateVaultKeys,
} from "./server-keys.ts";

describe("parseKeyFile()", () => {
  it("names the wrong member, not its value", () => {
    const file = JSON.parse(generateKeyFile("test"));
    const short = JSON.stringify({ ...file, pageToken: "c2hvcnQ=" });
    expect(() => parseKeyFile(short, "test")).toThrow("pageToken.keys.page-token-test-1 must be 32 bytes in base64");
    const none = JSON.stringify({ ...file, sealing: { ...file.sealing, current: "gone" } });
    expect(() => parseKeyFile(none, "test")).toThrow("sealing.current names no key");
  });

  it("refuses the vault's ring, which the edge must not have", () => {
    const file = JSON.parse(generateKeyFile("test"));
    const { vaultRing } = JSON.parse(generateVaultKeyFile(generateKeyFile("test")));
    const both = JSON.stringify({ ...file, vaultRing });
    expect(() => parseKeyFile(both, "test")).toThrow("vaultRing belongs into the vault's key file");
    const apart = separateVaultKeys(both);
    expect(parseKeyFile(apart.keyFile, "test").signing.kid).toBe("signing-test-1");
    expect(JSON.parse(apart.vaultKeyFile).vaultRing).toEqual(vaultRing);
  });

  it.each(["storeRing", "walletRing", "fingerprint"])(
    "refuses the vault's %s, which the edge must not have",
    (member) => {
      const [edge, vault] = [generateKeyFile("test"), JSON.parse(generateVaultKeyFile(generateKeyFile("test")))];
      const both = JSON.stringify({ ...JSON.parse(edge), [member]: vault[member] });
      expect(() => parseKeyFile(both, "test")).toThrow(`${member} belongs into the vault's key file`);
    },
  );

  it("makes separate keys for each environment", () => {
    expect(parseKeyFile(generateKeyFile("test"), "test").clientSecret.letter).toBe("t");
    expect(parseKeyFile(generateKeyFile("live"), "live").clientSecret.letter).toBe("l");
    expect(generateKeyFile("test")).not.toBe(generateKeyFile("test"));
  });
});

describe("parseVaultKeys()", () => {
  const keyFile = generateKeyFile("test");
  const vaultKeyFile = JSON.parse(generateVaultKeyFile(keyFile));

  it("returns the ring and the keys that verify the edge's signatures", () => {
    const { ring, verification } = parseVaultKeys(JSON.stringify(vaultKeyFile), "test");
    expect(ring.current).toBe("vault-test-1");
    const [key] = verification;
    const { privateKey } = parseKeyFile(keyFile, "test").signing;
    const word = Buffer.from("a word of the edge's");
    expect(verify(null, word, key!.publicKey, sign(null, word, privateKey))).toBe(true);
  });

  it("returns the store ring, and none of a file from before it", () => {
    expect(parseVaultKeys(JSON.stringify(vaultKeyFile), "test").storeRing?.current).toBe("store-test-1");
    const { storeRing: _, ...old } = vaultKeyFile;
    expect(parseVaultKeys(JSON.stringify(old), "test").storeRing).toBeUndefined();
  });

  it("returns the wallet ring, and none of a file from before it", () => {
    expect(parseVaultKeys(JSON.stringify(vaultKeyFile), "test").walletRing?.current).toBe("wallet-test-1");
    const { walletRing: _, ...old } = vaultKeyFile;
    expect(parseVaultKeys(JSON.stringify(old), "test").walletRing).toBeUndefined();
  });

  it("refuses keys that could sign: the vault grants no access, not even to itself", () => {
    const { signing } = JSON.parse(keyFile);
    for (const member of [
      { signing },
      { nextSigning: signing },
      { verification: { [signing.kid]: signing.privateKey } },
    ]) {
      expect(() => parseVaultKeys(JSON.stringify({ ...vaultKeyFile, ...member }), "test")).toThrow(
        /belongs into the edge's|must be a public key/,
      );
    }
  });
});
