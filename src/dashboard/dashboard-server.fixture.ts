import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";
import { renderError, toDomainError } from "../edge/error-mapping.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { createCompanyDoor } from "./company-sign-in/door.ts";
import type { DashboardFixture } from "./dashboard.fixture.ts";
import { createDashboardServer } from "./dashboard-server.ts";

/** Serves the RPCs of a dashboard until the file's tests are done. Returns the port. */
export async function serveForFile({ route, parts }: DashboardFixture, origin: string): Promise<number> {
  const style = { brand: "switchyard", errorDocsUrl: "https://pay.example.com/errors" };
  const server = createDashboardServer({
    runtime: systemRuntime,
    origin,
    route,
    files: new Map(),
    addressOf: () => "127.0.0.1",
    companyDoor: parts.signIns && createCompanyDoor({ ...parts, signIns: parts.signIns, onRefusal: () => {} }),
    isReady: async () => true,
    renderError: (error, requestId) => renderError(style, toDomainError(error), requestId),
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // Waits for every connection; an open one would keep it from ending.
  afterAll(() => new Promise((closed) => server.close(closed)));
  return (server.address() as AddressInfo).port;
}
