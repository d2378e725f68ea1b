/** Tests deploy/systemd: valid by systemd's own checker where it is installed, hardened, and one unit for each role. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";

const root = join(import.meta.dirname, "../../..");
const folder = join(root, "deploy", "systemd");
const read = (file: string) => readFileSync(join(folder, file), "utf8");
const roles = ["dashboard", "edge", "vault", "worker"];
const fileOf = (role: string) => `switchyard-${role}.service`;
const valueIn = (text: string, key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(text)?.[1];

/** Returns a copy of the units that run this checkout, and what a change of one made of it. */
function unitsHere(change: (text: string) => string = (text) => text): string {
  const copy = mkdtempSync(join(tmpdir(), "units-"));
  onTestFinished(() => rmSync(copy, { recursive: true }));
  cpSync(folder, copy, { recursive: true });
  for (const file of readdirSync(copy, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.(service|conf)$/.test(name),
  )) {
    const text = readFileSync(join(copy, file), "utf8").replaceAll("/opt/switchyard/", `${root}/`);
    writeFileSync(join(copy, file), change(text.replaceAll("/opt/switchyard\n", `${root}\n`)));
  }
  return copy;
}

function analyze(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  return { status, says: `${stdout}${stderr}`.trim() };
}
const hasSystemd = analyze("--version").status === 0;

describe("deploy/systemd", () => {
  it("has a unit for each role, which runs that role with its file of settings", () => {
    expect(readdirSync(folder).filter((name) => name.endsWith(".service"))).toEqual(roles.map(fileOf));
    for (const role of roles) {
      const text = read(fileOf(role));
      expect(valueIn(text, "ExecStart")).toMatch(new RegExp(`/node .*src/main\\.mjs serve --role ${role}$`));
      const file = valueIn(text, "EnvironmentFile")!;
      expect([role, file]).toEqual([
        role,
        role === "vault" ? "/etc/switchyard-vault/vault.env" : "/etc/switchyard/live.env",
      ]);
      expect(existsSync(join(folder, "..", file.split("/").at(-1)!))).toBe(true);
    }
  });

  it("gives each role a port of its own for metrics, and the vault a user and a folder of its own", () => {
    const ports = roles.map((role) => valueIn(read(fileOf(role)), "Environment"));
    expect(new Set(ports).size).toBe(roles.length);
    expect(ports.every((port) => port?.startsWith("SWITCHYARD_METRICS_PORT="))).toBe(true);
    for (const role of roles) {
      const text = read(fileOf(role));
      expect([role, valueIn(text, "User")?.endsWith("-vault")]).toEqual([role, role === "vault"]);
      const shut = role === "vault" ? "-/etc/switchyard" : "-/etc/switchyard-vault";
      expect([role, valueIn(text, "InaccessiblePaths")]).toEqual([role, shut]);
      expect(read("sysusers.conf")).toMatch(new RegExp(`^u ${valueIn(text, "User")} `, "m"));
    }
  });

  it("waits as long as a role may take to stop", () => {
    // Its longest shutdown grace and the time after it (docs/upgrades.md).
    expect(Number(valueIn(read("switchyard-.service.d/10-hardened.conf"), "TimeoutStopSec"))).toBe(10 + 25);
  });

  it("is valid by systemd-analyze, which detects a wrong name", ({ skip }) => {
    skip(!hasSystemd, "systemd is not installed");
    const verify = (copy: string) => analyze("verify", "--man=no", ...roles.map((role) => join(copy, fileOf(role))));
    expect(verify(unitsHere())).toEqual({ status: 0, says: "" });
    expect(verify(unitsHere((text) => text.replace("ProtectSystem=", "ProtectSistem="))).says).toContain(
      "ProtectSistem",
    );
  });

  it("leaves a role little that it could do, by systemd's count of ten", ({ skip }) => {
    skip(!hasSystemd, "systemd is not installed");
    const exposed = (copy: string, role: string) =>
      analyze("security", "--offline=true", "--threshold=20", "--no-pager", join(copy, fileOf(role))).status;
    const copy = unitsHere();
    expect(roles.map((role) => exposed(copy, role))).toEqual(roles.map(() => 0));
    expect(
      exposed(
        unitsHere((text) => text.replace("CapabilityBoundingSet=\n", "")),
        "edge",
      ),
    ).toBe(1);
  });
});
