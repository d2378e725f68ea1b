/** Tests the examples of reverse proxies with nginx and Caddy themselves, where they are installed. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../demo/free-port.ts";
import { createClientAddressOf } from "../../platform/client-address.ts";
import { TestAuthority } from "../testing/certificates.ts";

const deploy = join(import.meta.dirname, "../../../deploy");
const isInstalled = (program: string, version: string) => spawnSync(program, [version]).status === 0;

const authority = new TestAuthority("proxies");
afterAll(() => authority.close());
const { certFile, keyFile } = authority.issue("pay.example.com");

type Ports = { readonly edge: number; readonly tls: number };

/** Writes nginx's example into a folder, at these ports and with a certificate of a test; returns the main file. */
async function nginxExample({ edge, tls }: Ports, change = (example: string) => example): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "nginx-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [plain, grpc] = [await freePort(), await freePort()];
  const example = readFileSync(join(deploy, "nginx", "switchyard.conf"), "utf8")
    .replaceAll(/^ *listen \[::\].*\n/gm, "")
    .replaceAll(/listen 80;/g, `listen 127.0.0.1:${plain};`)
    .replaceAll("listen 443 ", `listen 127.0.0.1:${tls} `)
    .replace("listen 127.0.0.1:8181 ", `listen 127.0.0.1:${grpc} `)
    .replace("server 127.0.0.1:8080 ", `server 127.0.0.1:${edge} `)
    .replaceAll("/etc/nginx/switchyard-proxy.inc", join(folder, "switchyard-proxy.inc"))
    .replaceAll(/\/etc\/nginx\/certificates\/\w+\.(crt|key)/g, (_, kind) => (kind === "crt" ? certFile : keyFile));
  copyFileSync(join(deploy, "nginx", "switchyard-proxy.inc"), join(folder, "switchyard-proxy.inc"));
  writeFileSync(join(folder, "switchyard.conf"), change(example));
  const kept = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((of) => `${of}_temp_path ${folder}/${of};`);
  const main = [
    ...["daemon off;", "worker_processes 1;", `pid ${folder}/pid;`, "error_log stderr notice;", "events {}"],
    ...["http {", "access_log off;", ...kept, `include ${folder}/switchyard.conf;`, "}", ""],
  ];
  writeFileSync(join(folder, "nginx.conf"), main.join("\n"));
  return join(folder, "nginx.conf");
}

async function startNginx(file: string): Promise<void> {
  const nginx: ChildProcess = spawn("nginx", ["-c", file], { stdio: ["ignore", "ignore", "pipe"] });
  onTestFinished(async () => {
    nginx.kill("SIGTERM");
    if (nginx.exitCode === null) await once(nginx, "exit");
  });
  let said = "";
  for await (const part of nginx.stderr!) {
    said += part;
    if (said.includes("start worker process")) return;
  }
  throw new Error(said);
}

async function startEdge(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Sends a call by the proxy; the client writes an address of its own into the header. */
async function call(tls: number, method: "GET" | "POST", body = ""): Promise<{ status: number; said: string }> {
  const headers = { host: "pay.example.com", "x-forwarded-for": "203.0.113.9" };
  const options = {
    host: "127.0.0.1",
    port: tls,
    servername: "pay.example.com",
    rejectUnauthorized: false,
    agent: false,
  };
  const sent = request({ ...options, method, headers }).end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode!, said: await text(response) };
}

describe("deploy/nginx", () => {
  beforeEach(({ skip }) => skip(!isInstalled("nginx", "-v"), "nginx is not installed"));

  it("is valid by nginx, which detects a wrong name", async () => {
    const test = (file: string) => spawnSync("nginx", ["-t", "-c", file], { encoding: "utf8" });
    const ports = { edge: await freePort(), tls: await freePort() };
    expect(test(await nginxExample(ports)).stderr).toMatch(/syntax is ok[\s\S]*test is successful/);
    const wrong = await nginxExample(ports, (example) => example.replaceAll("keepalive ", "keepalife "));
    expect(test(wrong).stderr).toContain('unknown directive "keepalife"');
  });

  it("names the client to a role, whatever the client wrote, and passes bodies on", async () => {
    const clientOf = createClientAddressOf(["127.0.0.1"]);
    const seen: string[] = [];
    const edge = await startEdge(async (incoming, response) => {
      seen.push(String(incoming.headers["x-forwarded-for"]), clientOf(incoming), incoming.headers.host!);
      response.end(String((await text(incoming)).length));
    });
    const tls = await freePort();
    await startNginx(await nginxExample({ edge, tls }));
    expect(await call(tls, "POST", "x".repeat(400_000))).toEqual({ status: 200, said: "400000" });
    expect(seen).toEqual(["127.0.0.1", "127.0.0.1", "pay.example.com"]);
    expect((await call(tls, "POST", "x".repeat(600_000))).status).toBe(413);
  });

  it("sends no POST to a second copy that the first may have read", async () => {
    let posts = 0;
    const edge = await startEdge((incoming, response) => {
      posts += 1;
      incoming.resume().once("end", () => response.destroy());
    });
    const twoCopies = (example: string) => example.replace(/( *server 127\.0\.0\.1:\d+ max_fails.*\n)/, "$1$1");
    const careless = (example: string) =>
      twoCopies(example).replace("proxy_pass ", "proxy_next_upstream error non_idempotent; proxy_pass ");
    const countPosts = async (change: (example: string) => string) => {
      const [tls, before] = [await freePort(), posts];
      await startNginx(await nginxExample({ edge, tls }, change));
      expect(await call(tls, "POST", "{}")).toMatchObject({ status: 502 });
      return posts - before;
    };
    expect(await countPosts(twoCopies)).toBe(1);
    expect(await countPosts(careless)).toBe(2);
  });
});

describe("deploy/compose/Caddyfile", () => {
  beforeEach(({ skip }) => skip(!isInstalled("caddy", "version"), "Caddy is not installed"));

  const hosts = ["API_HOST=pay.acme.test", "VAULT_HOST=cards.acme.test", "DASHBOARD_HOST=dashboard.acme.test"];
  const command = ["caddy", "adapt", "--adapter", "caddyfile", "--config", join(deploy, "compose", "Caddyfile")];
  const adapt = (...more: readonly string[]) => spawnSync("env", [...hosts, ...more, ...command], { encoding: "utf8" });
  const dialled = (config: string) => [...config.matchAll(/"dial":"([^"]+)"/g)].map(([, address]) => address);

  it("is read by Caddy, for compose and for addresses of yours", () => {
    const { status, stdout, stderr } = adapt();
    expect([status, stderr]).toEqual([0, ""]);
    expect(dialled(stdout).toSorted()).toEqual([
      "dashboard:8084",
      "edge-1:8080",
      "edge-2:8080",
      "vault-1:8082",
      "vault-2:8082",
    ]);
    const own = adapt("EDGES=127.0.0.1:8080", "VAULTS=10.0.0.7:8082", "DASHBOARDS=127.0.0.1:8084");
    expect(dialled(own.stdout).toSorted()).toEqual(["10.0.0.7:8082", "127.0.0.1:8080", "127.0.0.1:8084"]);
  });
});
