/**
 * Both ports of an edge that counts requests, on the databases of a fixture: it acts as a further process beside
 * others.
 */
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "pg";
import { createAuthenticate } from "../../../edge/authenticate.ts";
import type { EdgeEnvironment, EdgeEnvironments } from "../../../edge/caller.ts";
import type { EdgeFixture } from "../../../edge/edge.fixture.ts";
import { createGrpcServer } from "../../../edge/grpc-server.ts";
import { createPublicServer } from "../../../edge/public-server.ts";
import { RequestLimits, takeRequests } from "../../../edge/request-limits/request-limits.ts";
import { Database, type Statement } from "../../../platform/database.ts";
import { createHold } from "../../../platform/hold.ts";
import type { RequestLimit } from "../../../platform/request-counter.ts";

/** Its addresses, and the statements it has sent to its databases. */
export type LimitedEdge = {
  readonly publicOrigin: string;
  readonly grpcPort: number;
  readonly statements: readonly string[];
  close(): Promise<void>;
};

/** Starts it with one limit for every merchant; `others` are environments beside the fixture's. It holds its reads. */
export async function startLimitedEdge(
  edge: EdgeFixture,
  limit: RequestLimit,
  {
    others = [],
    nowMs = () => performance.now(),
    holdMs = 1_000,
  }: { others?: readonly EdgeEnvironment[]; nowMs?: () => number; holdMs?: number } = {},
): Promise<LimitedEdge> {
  const statements: string[] = [];
  const opened: Database[] = [];
  const counting = (environment: EdgeEnvironment): EdgeEnvironment => {
    const { max, options, connectionString } = environment.database.pool.options;
    const database = new WatchedDatabase(new Pool({ max, options, connectionString, pipeline: true }), statements);
    opened.push(database);
    const requestLimits = new RequestLimits({
      limit,
      take: (bucket, wanted) => takeRequests(database, { bucket, limit, wanted }),
      nowMs,
      pause,
      reportFailure: () => {},
    });
    return {
      ...environment,
      database,
      core: { ...environment.core, database, hold: createHold(holdMs), known: new Map() },
      requestLimits,
    };
  };
  const all = [edge.parts.environments.test!, ...others].map(counting);
  const environments: EdgeEnvironments = Object.fromEntries(all.map((environment) => [environment.name, environment]));
  const parts = { ...edge.parts, environments, authenticate: createAuthenticate(environments, "switchyard") };
  const publicServer = createPublicServer(parts);
  await new Promise<void>((resolve) => publicServer.listen(0, "127.0.0.1", resolve));
  const grpcServer = createGrpcServer(parts, { reflection: false });
  return {
    publicOrigin: `http://127.0.0.1:${(publicServer.address() as AddressInfo).port}`,
    grpcPort: await grpcServer.listen(0, "127.0.0.1"),
    statements,
    async close() {
      publicServer.closeAllConnections();
      await new Promise((resolve) => publicServer.close(resolve));
      await grpcServer.close();
      await Promise.all(opened.map(({ pool }) => pool.end()));
    },
  };
}

/**
 * Keeps the name of each statement that is not in a transaction; those of the edge's authentication and limits all are.
 */
class WatchedDatabase extends Database {
  readonly #statements: string[];

  constructor(pool: Pool, statements: string[]) {
    super(pool);
    this.#statements = statements;
  }

  override query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    this.#statements.push(statement.name);
    return super.query(statement, values);
  }
}
