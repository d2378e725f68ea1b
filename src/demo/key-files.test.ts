import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { generateKeyFile, generateVaultKeyFile, parseKeyFile, parseVaultKeys } from "../config/server-keys.ts";
import { prepareKeyFiles } from "./databases.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-demo-keys-"));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (file: string) => readFileSync(file, "utf8");

describe("prepareKeyFiles()", () => {
  it("makes two files for each environment, and does not change them afterwards", () => {
    const files = prepareKeyFiles(folder);
    const before = [files.test.service, files.test.vault, files.live.service, files.live.vault].map(read);
    expect(prepareKeyFiles(folder)).toEqual(files);
    expect([files.test.service, files.test.vault, files.live.service, files.live.vault].map(read)).toEqual(before);
    expect(statSync(files.live.vault).mode & 0o777).toBe(0o600);
    expect(parseVaultKeys(read(files.live.vault), "live").verification[0]?.kid).toBe("signing-live-1");
  });

  it("splits a file that also holds the vault's ring, and keeps every key", () => {
    const state = mkdtempSync(join(folder, "old-"));
    const keys = JSON.parse(generateKeyFile("test"));
    const { vaultRing } = JSON.parse(generateVaultKeyFile(JSON.stringify(keys)));
    writeFileSync(join(state, "keys-test.json"), JSON.stringify({ ...keys, vaultRing }), { mode: 0o600 });
    const { test } = prepareKeyFiles(state);
    expect(JSON.parse(read(test.service))).toEqual(keys);
    expect(parseKeyFile(read(test.service), "test").sealing.current).toBe("sealing-test-1");
    expect(JSON.parse(read(test.vault)).vaultRing).toEqual(vaultRing);
  });
});
