/** grpc.health.v1 for the services of a port (https://github.com/grpc/grpc/blob/master/doc/health-checking.md). */
import { setTimeout as pause } from "node:timers/promises";
import type { ServiceImpl } from "@connectrpc/connect";
import { type Health, HealthCheckResponse_ServingStatus as Serving } from "../../gen/grpc/health/v1/health_pb.ts";
import { healthWatchEveryMs, healthWatchersMax } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import type { EdgeParts } from "./edge-parts.ts";

/**
 * Creates the health service of these services and, under the empty name, of the whole server: all are ready together,
 * or none is.
 */
export function createHealthService(
  services: readonly string[],
  { isReady, draining }: Pick<EdgeParts, "isReady" | "draining">,
  watchEveryMs = healthWatchEveryMs,
): ServiceImpl<typeof Health> {
  const known = new Set(["", ...services]);
  const statusNow = async () => ((await isReady()) ? Serving.SERVING : Serving.NOT_SERVING);
  let watchers = 0;

  async function* watch(service: string, signal: AbortSignal) {
    const waking = AbortSignal.any([signal, draining]);
    let last: Serving | undefined;
    for (;;) {
      const status = known.has(service) ? await statusNow() : Serving.SERVICE_UNKNOWN;
      if (status !== last) yield { status };
      last = status;
      if (waking.aborted) break;
      await pause(watchEveryMs, undefined, { signal: waking }).catch(() => {});
    }
    if (signal.reason instanceof DomainError) throw signal.reason;
  }

  return {
    async check({ service }) {
      if (!known.has(service)) throw new DomainError("not_found", "This server has no service of this name.");
      return { status: await statusNow() };
    },

    async *watch({ service }, { signal }) {
      if (watchers >= healthWatchersMax)
        throw new DomainError("rate_limited", "Too many callers already watch the health of this server.");
      watchers++;
      try {
        yield* watch(service, signal);
      } finally {
        watchers--;
      }
    },

    async list() {
      const status = await statusNow();
      return { statuses: Object.fromEntries([...known].map((service) => [service, { status }])) };
    },
  };
}
