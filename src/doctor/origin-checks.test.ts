import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ServiceConfig } from "../config.ts";
import { TestAuthority } from "../testing/certificates.ts";
import { examineOrigins } from "./origin-checks.ts";

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

it("examineOrigins() says when a certificate ends, and that its authority is unknown here", async () => {
  const apiOrigin = `https://localhost:${(server.address() as AddressInfo).port}`;
  const service = { apiOrigin, environments: [] as const } as unknown as ServiceConfig;
  const findings = await examineOrigins({ service, vault: undefined, dashboard: undefined });
  expect(findings).toMatchObject([
    { state: "PROBLEM", says: expect.stringMatching(/^SWITCHYARD_API_ORIGIN does not answer: .*certificate/) },
    { state: "WARNING", says: "the certificate of SWITCHYARD_API_ORIGIN is valid for 0 more days" },
    { state: "PROBLEM", says: expect.stringContaining("the certificate at SWITCHYARD_API_ORIGIN is not trusted here") },
  ]);
});
