import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { optional, port, required, secretText, withDefault } from "./setting.ts";
import { SettingReader } from "./setting-reader.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-secret-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, "password");
writeFileSync(path, "hunter2\n", { mode: 0o600 });

const about = { roles: ["edge"] as const, about: "a password", example: "…" };
const password = required("NATS_PASSWORD", { ...about, kind: secretText(/^\w+$/, "a password") });

function read(variables: Record<string, string>, isLive = false) {
  const problems: string[] = [];
  const reader = new SettingReader(variables, problems, { isLive });
  return { value: reader.read(password), problems, warnings: reader.warnings };
}

describe("SettingReader", () => {
  it("reads a secret as it is or from a file, without the line's end", () => {
    expect(read({ NATS_PASSWORD: "hunter2" }).value?.expose()).toBe("hunter2");
    const { value, problems, warnings } = read({ NATS_PASSWORD_FILE: path }, true);
    expect([value?.expose(), problems, warnings]).toEqual(["hunter2", [], []]);
  });

  it("names both if both are set, and a file that cannot be read", () => {
    expect(read({ NATS_PASSWORD: "hunter2", NATS_PASSWORD_FILE: path }).problems).toEqual([
      "- NATS_PASSWORD_FILE must be left out where NATS_PASSWORD is set",
    ]);
    const { problems } = read({ NATS_PASSWORD_FILE: join(folder, "none") });
    expect(problems).toEqual(["- NATS_PASSWORD_FILE must be a file that can be read: there is no such file"]);
    expect(problems.join()).not.toContain(folder);
  });

  it("warns of a file that others can read, and refuses it in live", () => {
    chmodSync(path, 0o640);
    const [inTest, inLive] = [read({ NATS_PASSWORD_FILE: path }), read({ NATS_PASSWORD_FILE: path }, true)];
    chmodSync(path, 0o600);
    const line = expect.stringContaining("NATS_PASSWORD_FILE: others on this machine can read the file");
    expect([inTest.problems, inTest.warnings]).toEqual([[], [line]]);
    expect([inLive.problems, inLive.warnings]).toEqual([[line], []]);
  });

  it("treats an empty value as absent, unless it is required", () => {
    const reader = new SettingReader({ A: "", B: "", NATS_PASSWORD: "" }, []);
    expect(reader.read(optional("A", { ...about, kind: port }))).toBeUndefined();
    expect(reader.read(withDefault("B", "80", { ...about, kind: port }))).toBe(80);
    expect(reader.read(password)).toBeUndefined();
    expect(reader.problems).toEqual(["- NATS_PASSWORD must be a password"]);
  });
});
