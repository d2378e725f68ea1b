import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { platform } from "node:os";
import { promisify } from "node:util";
import { Pool } from "pg";
import { describe, expect, it } from "vitest";
import { Database } from "../platform/database.ts";
import { createLogger } from "../platform/log.ts";
import { startVault } from "./main.ts";
import type { VaultConfig, VaultEnvironment } from "./vault-config.ts";

const ring = { current: "1", keys: { 1: randomBytes(32) } };

/** Returns a configuration whose database is never reached. */
const configOf = (environments: readonly VaultEnvironment[]): VaultConfig => ({
  publicListen: { host: "127.0.0.1", port: 0 },
  grpcListen: { host: "127.0.0.1", port: 0 },
  database: new Database(new Pool()),
  logger: createLogger({ name: "vault", level: "silent" }),
  environments,
  grantKeys: [],
  serviceTokenKeys: [],
  trustedProxies: [],
  errorsUrl: "https://docs.example/errors",
});

describe("startVault()", () => {
  it("refuses a test environment without its list of cards, which would accept real cards", async () => {
    await expect(startVault(configOf([{ environment: "test", ring }]))).rejects.toThrow("test cards");
  });

  it("refuses a list in live, which would accept no real card, and a vault without an environment", async () => {
    const live: VaultEnvironment = { environment: "live", ring, testCards: new Set() };
    await expect(startVault(configOf([live]))).rejects.toThrow("test cards");
    const emulated = { environment: "live", ring, sandboxHosts: ["127.0.0.1:4404"] } as const;
    await expect(startVault(configOf([emulated]))).rejects.toThrow("test cards");
    await expect(startVault(configOf([]))).rejects.toThrow("environment");
  });

  it("refuses to run under a debugger, before it reads anything", async () => {
    const script = `const { startVault } = await import(${JSON.stringify(new URL("main.ts", import.meta.url).href)});
      await startVault({});`;
    const options = ["--inspect=127.0.0.1:0", "--input-type=module", "--eval", script];
    await expect(promisify(execFile)(process.execPath, options)).rejects.toThrow("does not start with a debugger");
  });

  it.runIf(platform() === "linux" && hardCoreLimit() !== "0")(
    "does not start in live if core dumps may be on, and warns in test",
    async () => {
      const modules = ["main.ts", "../platform/log.ts"].map((name) =>
        JSON.stringify(new URL(name, import.meta.url).href),
      );
      // Without prlimit on the PATH core dumps cannot be turned off.
      const start = async (environment: string) => {
        const script = `const [{ startVault }, { createLogger }] = await Promise.all([${modules.map((name) => `import(${name})`)}]);
          const ring = { current: "1", keys: { 1: Buffer.alloc(32, 1) } };
          const environments = [{ environment: "${environment}", ring, ${environment === "test" ? "testCards: new Set()" : ""} }];
          const listen = { host: "127.0.0.1", port: 0 };
          const vault = await startVault({ environments, logger: createLogger({ name: "vault", level: "warn" }), publicListen: listen,
            grpcListen: listen, trustedProxies: [], database: { query: async () => [] }, grantKeys: [], serviceTokenKeys: [] });
          await vault.close();`;
        const command = `ulimit -c unlimited; exec "${process.execPath}" --input-type=module --eval '${script.replaceAll("'", '"')}'`;
        return promisify(execFile)("/bin/sh", ["-c", command], { env: { PATH: "/nowhere" } });
      };
      await expect(start("live")).rejects.toThrow("does not start while core dumps may be on");
      const { stdout, stderr } = await start("test");
      expect(stdout + stderr).toContain("core dumps may be on");
    },
  );
});

/** Returns the limit up to which a process may raise its own; with 0 no process here could write a core dump. */
function hardCoreLimit(): string {
  return execFileSync("/bin/sh", ["-c", "ulimit -Hc"], { encoding: "utf8" }).trim();
}
