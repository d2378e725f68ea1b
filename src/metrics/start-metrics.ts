/** Starts the metrics port of a process, for all of its roles. */
import { once } from "node:events";
import type { Logger } from "../platform/log.ts";
import { createMetricsServer } from "./metrics-server.ts";
import { addProcessFigures, type ProcessMetrics } from "./process-metrics.ts";

/** Starts the server, which listens once this returns. Rejects if the port is taken. */
export async function startMetrics(
  metrics: ProcessMetrics,
  { port, host, log }: { port: number; host: string; log: Pick<Logger, "error"> },
): Promise<{ close(): Promise<void> }> {
  addProcessFigures(metrics);
  const server = createMetricsServer({
    ...metrics,
    reportBug: (error) => log.error({ err: error }, "metrics could not be read"),
    reportUnread: (of, error) => log.error({ kind: of, err: error }, "figures are missing from a scrape"),
  });
  server.listen(port, host);
  await once(server, "listening");
  return {
    async close() {
      const ended = once(server, "close");
      server.close();
      server.closeIdleConnections();
      await ended;
    },
  };
}
