import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { rotateCardToken } from "../config/server-key-rotation.ts";
import { generateKeyFile, generateVaultKeyFile } from "../config/server-keys.ts";
import { examine } from "./examine.ts";

it("examine() does not throw if settings cannot even be read, and repeats none of them", async () => {
  const variables = {
    get SWITCHYARD_ENVIRONMENTS(): string {
      throw new TypeError("postgres://live:q8Zr/1mVtKx0wLfB7@db/live");
    },
  };
  const findings = await examine({ roles: ["edge"], variables });
  expect(findings[0]).toMatchObject({ state: "PROBLEM", says: "the settings of edge cannot be read (TypeError)" });
  expect(JSON.stringify(findings)).not.toContain("q8Zr");
});

it("examine() finds an edge that has not the key of the vault's card tokens", async () => {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-examine-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const keyFile = generateKeyFile("test");
  const files = { keys: JSON.parse(keyFile), vaultKeys: JSON.parse(generateVaultKeyFile(keyFile)) };
  const { cardToken: _, ...older } = files.keys;
  const findingOf = async (keys: object, vaultKeys: object) => {
    const variables = {
      SWITCHYARD_ENVIRONMENTS: "test",
      SWITCHYARD_TEST_KEYS_FILE: join(folder, "keys.json"),
      SWITCHYARD_TEST_VAULT_KEYS_FILE: join(folder, "vault-keys.json"),
    };
    writeFileSync(variables.SWITCHYARD_TEST_KEYS_FILE, JSON.stringify(keys), { mode: 0o600 });
    writeFileSync(variables.SWITCHYARD_TEST_VAULT_KEYS_FILE, JSON.stringify(vaultKeys), { mode: 0o600 });
    const findings = await examine({ roles: ["edge", "vault"], variables });
    return findings.find(({ area, says }) => area === "keys test" && says.includes("card"));
  };
  const used = rotateCardToken(rotateCardToken(files, "add"), "use");
  expect(await findingOf(files.keys, files.vaultKeys)).toMatchObject({ state: "OK" });
  expect(await findingOf(used.keys, files.vaultKeys)).toMatchObject({ state: "OK" });
  for (const [keys, vaultKeys] of [
    [older, files.vaultKeys],
    [files.keys, used.vaultKeys],
    [{ ...files.keys, cardToken: JSON.parse(generateKeyFile("test")).cardToken }, files.vaultKeys],
  ]) {
    expect(await findingOf(keys, vaultKeys)).toMatchObject({ state: "WARNING" });
  }
});
