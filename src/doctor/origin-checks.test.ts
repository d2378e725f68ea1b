import { once } from "node:events";
import { createServer as createPlainServer } from "node:http";
import { createSecureServer } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Config, ServiceConfig } from "../config/checked-config.ts";
import { TestAuthority } from "../dev/testing/certificates.ts";
import { examineCertificateFiles, examineOrigins } from "./origin-checks.ts";

const authority = new TestAuthority("origins");
const server = createServer(authority.issue("edge"), (_request, response) => response.end("ready"));
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => {
  server.close();
  authority.close();
});

it("examineOrigins() reports the expiry of a certificate, and an authority that is unknown here", async () => {
  const apiOrigin = `https://localhost:${(server.address() as AddressInfo).port}`;
  const service = { apiOrigin, environments: [] as const } as unknown as ServiceConfig;
  const findings = await examineOrigins({ service, vault: undefined, dashboard: undefined });
  expect(findings).toMatchObject([
    { state: "PROBLEM", says: expect.stringMatching(/^SWITCHYARD_API_ORIGIN does not answer: .*certificate/) },
    { state: "WARNING", says: "the certificate of SWITCHYARD_API_ORIGIN is valid for 0 more days" },
    { state: "PROBLEM", says: expect.stringContaining("the certificate at SWITCHYARD_API_ORIGIN is not trusted here") },
  ]);
});

it("examineOrigins() reports a balancer without a server behind it as a problem, at each origin", async () => {
  const status = { edge: 502, vault: 204, dashboard: 503 };
  const servers = Object.values(status).map((ready) =>
    createPlainServer(({ url }, response) => response.writeHead(url === "/readyz" ? ready : 200).end()),
  );
  const origins = await Promise.all(
    servers.map(async (one) => {
      one.listen(0, "127.0.0.1");
      await once(one, "listening");
      return `http://127.0.0.1:${(one.address() as AddressInfo).port}`;
    }),
  );
  const [apiOrigin, publicOrigin, origin] = origins;
  const subject = { service: { apiOrigin, environments: [] }, vault: { publicOrigin }, dashboard: { origin } };
  const findings = await examineOrigins(subject as unknown as Pick<Config, "service" | "vault" | "dashboard">);
  for (const one of servers) one.close();
  expect(findings.slice(0, 4)).toMatchObject([
    { state: "PROBLEM", says: "SWITCHYARD_API_ORIGIN answers but is not ready (502 at /readyz)" },
    { state: "OK", says: "SWITCHYARD_VAULT_ORIGIN answers" },
    { state: "OK", says: "the vault's clock and this machine's agree within two seconds" },
    {
      state: "PROBLEM",
      says: "SWITCHYARD_DASHBOARD_ORIGIN answers but is not ready (503 at /readyz)",
      remedy: expect.stringContaining("the role dashboard"),
    },
  ]);
});

it.each([
  ["behind", -10_000],
  ["ahead of", 10_000],
])("examineOrigins() finds the vault's clock %s this machine's", async (difference, ms) => {
  const vault = createPlainServer((_, response) =>
    response.writeHead(200, { date: new Date(Date.now() + ms).toUTCString() }).end(),
  ).listen(0, "127.0.0.1");
  await once(vault, "listening");
  const publicOrigin = `http://127.0.0.1:${(vault.address() as AddressInfo).port}`;
  const subject = { vault: { publicOrigin } } as unknown as Pick<Config, "service" | "vault" | "dashboard">;
  const findings = await examineOrigins(subject);
  vault.close();
  expect(findings).toContainEqual(
    expect.objectContaining({
      state: "PROBLEM",
      // The header omits the milliseconds.
      says: expect.stringMatching(`^the vault's clock is (?:9|10) s ${difference} this machine's`),
      remedy: expect.stringContaining("NTP"),
    }),
  );
});

it("examineOrigins() reaches the vault's port over TLS as edge and worker do, and reports untrusted certificates", async () => {
  const strangers = new TestAuthority("strangers");
  const vaultPort = createSecureServer(authority.issue("vault")).listen(0, "127.0.0.1");
  await once(vaultPort, "listening");
  const grpcAddress = `localhost:${(vaultPort.address() as AddressInfo).port}`;
  const findings = [authority.certFile, strangers.certFile, `${authority.certFile}.gone`].map(async (caFile) => {
    const vault = { mode: "self_hosted", grpcAddress, grpcTls: { caFile } };
    const service = { environments: [{ name: "live", vault, nats: {} }] } as unknown as ServiceConfig;
    const [port] = await examineOrigins({ service, vault: undefined, dashboard: undefined });
    const [file] = examineCertificateFiles({ service, vault: undefined });
    return [port, file];
  });
  const [own, other, gone] = await Promise.all(findings);
  strangers.close();
  vaultPort.close();
  expect(own).toMatchObject([{ says: "SWITCHYARD_VAULT_GRPC_ADDRESS answers over TLS" }, { state: "WARNING" }]);
  expect(other?.[0]).toMatchObject({ state: "PROBLEM", says: expect.stringContaining("does not answer: ") });
  expect(gone?.[0]).toMatchObject({ state: "PROBLEM" });
  expect(gone?.[1]).toMatchObject({
    says: expect.stringContaining("SWITCHYARD_VAULT_GRPC_TLS_CA_FILE cannot be read"),
  });
});

it.each([
  ["x-forwarded-for; trusted", "OK", "x-forwarded-for arrived at SWITCHYARD_API_ORIGIN, from a trusted proxy"],
  ["x-forwarded-for; untrusted", "WARNING", /^x-forwarded-for arrived .*SWITCHYARD_TRUSTED_PROXIES does not name/],
  ["none; untrusted", "OK", "no header with a client's address arrived at SWITCHYARD_API_ORIGIN"],
  ["none; trusted", "WARNING", "a trusted proxy sent no X-Forwarded-For to SWITCHYARD_API_ORIGIN"],
  ["forwarded; trusted", "WARNING", "forwarded arrived at SWITCHYARD_API_ORIGIN, and is not read"],
])("examineOrigins() names the header with its own address that arrived: %s", async (forwarding, state, says) => {
  const edge = createPlainServer((_, response) => response.writeHead(200, { forwarding }).end()).listen(0, "127.0.0.1");
  await once(edge, "listening");
  const apiOrigin = `http://127.0.0.1:${(edge.address() as AddressInfo).port}`;
  const service = { apiOrigin, environments: [] as const } as unknown as ServiceConfig;
  const findings = await examineOrigins({ service, vault: undefined, dashboard: undefined });
  edge.close();
  expect(findings[1]).toMatchObject({ state, says: expect.stringMatching(says) });
});
