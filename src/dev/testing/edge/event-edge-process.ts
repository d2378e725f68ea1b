/** An edge that serves streams of events over gRPC, as a process that a test kills. It fails at its first unexpected error. */
import { Pool } from "pg";
import type { Core } from "../../../core/core.ts";
import { createAuthenticate } from "../../../edge/authenticate.ts";
import type { EdgeEnvironment } from "../../../edge/caller.ts";
import type { EdgeParts } from "../../../edge/edge-parts.ts";
import { createGrpcServer } from "../../../edge/grpc-server.ts";
import { Database } from "../../../platform/database.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import { answerParent } from "../child-process.ts";
import { createStrictLog } from "../strict-log.ts";

export type EventEdgeOrder = { readonly databaseUrl: string; readonly port: number };

const brand = "switchyard";
const unaborted = new AbortController().signal;

async function serve({ databaseUrl, port }: EventEdgeOrder): Promise<never> {
  const { promise: unexpected, reject: reportBug } = Promise.withResolvers<never>();
  const pool = new Pool({ connectionString: databaseUrl, max: 8, pipeline: true });
  // The test kills PostgreSQL while connections are idle.
  pool.on("error", () => {});
  const database = new Database(pool);
  const environment = {
    name: "test",
    cell: 1,
    // Streams use only the core's log.
    core: { log: createStrictLog() } as Core,
    database,
    reads: database,
    requestLimits: undefined,
    anyOriginWhenNoneRegistered: true,
    takeNotification: async () => {},
  } satisfies EdgeEnvironment;
  const environments = { test: environment };
  const parts = {
    environments,
    runtime: systemRuntime,
    authenticate: createAuthenticate(environments, brand),
    apiOrigin: "https://pay.example",
    style: { brand, errorDocsUrl: "https://docs.example/errors" },
    reportBug,
    meta: { brand, version: "1.2.3", now: () => new Date() },
    routeCheckout: () => {},
    guestServices: { services: [], route: () => {} },
    isReady: async () => true,
    draining: unaborted,
    stopping: unaborted,
  } satisfies Partial<EdgeParts>;
  // The other parts are of the public port.
  await createGrpcServer(parts as Partial<EdgeParts> as EdgeParts, { reflection: false }).listen(port, "127.0.0.1");
  return unexpected;
}

answerParent({ serve });
