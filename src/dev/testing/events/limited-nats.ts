/** A nats-server whose accounts allow less than the product needs, for tests of refusals. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { findNatsServer } from "../../../demo/private-nats.ts";

export type LimitedAccounts = Readonly<Record<string, string>>;

/** A running server; each account's user has the account's name, unless its block has its own users. */
export type LimitedNats = {
  readonly login: (user: string) => { servers: string; user: string; pass: string };
  stop(): Promise<void>;
};

/** Starts a server on any free port; `jetstream` is its line in the configuration, nothing for a server without. */
export async function startLimitedNats(jetstream: string, accounts: LimitedAccounts): Promise<LimitedNats> {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-nats-"));
  const configFile = join(folder, "nats.conf");
  const blocks = Object.entries(accounts).map(
    ([name, limits]) =>
      `  ${name}: {${limits} ${limits.includes("users:") ? "" : `users: [{user: ${name}, password: "secret"}]`}}`,
  );
  const lines = ['listen: "127.0.0.1:-1"', jetstream.replace("STORE", JSON.stringify(join(folder, "js")))];
  writeFileSync(configFile, `${lines.join("\n")}\naccounts: {\n${blocks.join("\n")}\n}\n`);
  const server = spawn(await findNatsServer(), ["-c", configFile], { stdio: ["ignore", "ignore", "pipe"] });
  let port = "";
  let said = "";
  for await (const line of createInterface(server.stderr)) {
    said = line;
    port ||= /Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(line)?.[1] ?? "";
    if (line.includes("Server is ready")) break;
  }
  if (server.exitCode !== null || port === "") throw new Error(`nats-server did not start: ${said}`);
  server.stderr.resume();
  return {
    login: (user) => ({ servers: `127.0.0.1:${port}`, user, pass: "secret" }),
    async stop() {
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
