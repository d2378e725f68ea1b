/** Requests as metrics: of each server by what was asked for and how it ended, how long that took, and what was refused. */
import type { RequestEnd, RequestMeter } from "../platform/request-meter.ts";
import { closedLabel, type MetricMaker } from "./metric-maker.ts";

/** Every server whose requests are counted. */
export type Surface = "public" | "grpc" | "dashboard" | "vault";

/** The refusals that say something about load or slow clients; others are mistakes of one caller. */
export const countedRefusals = [
  "rate_limited",
  "payload_too_large",
  "headers_too_large",
  "request_timeout",
  "deadline_exceeded",
  "unavailable",
  "internal",
] as const;

// A creation takes some milliseconds; a submission waits for gateways, for at most 20 s, and a call ends after 30 s.
const bucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];

/** Registers the metrics; what it returns makes the meter of one server, whose routes are all of this list or `other`. */
export function createRequestMetrics({ counter, gauge, histogram }: MetricMaker) {
  const total = counter(
    "requests_total",
    "Requests that are over, by what was asked for and how they ended; gone: no answer arrived whole.",
    "surface",
    "route",
    "end",
  );
  const duration = histogram(
    "request_duration_seconds",
    "From the head of a request to the end of its answer.",
    bucketsSeconds,
    "surface",
    "route",
  );
  const inFlight = gauge("requests_in_flight", "Requests that are being answered now.", "surface");
  const refusals = counter(
    "requests_refused_total",
    "Requests refused for a limit of rate, size or time, or for trouble of our own.",
    "surface",
    "reason",
  );

  return function meterOf(surface: Surface, routes: readonly string[]): RequestMeter {
    const shownRoute = closedLabel(routes);
    const refusedCodes: ReadonlySet<string> = new Set(countedRefusals);
    inFlight.set({ surface }, 0);
    for (const reason of countedRefusals) refusals.inc({ surface, reason }, 0);
    return {
      begin() {
        const begunAt = performance.now();
        inFlight.inc({ surface });
        return (asked: string, end: RequestEnd) => {
          const route = shownRoute(asked);
          inFlight.dec({ surface });
          total.inc({ surface, route, end });
          duration.observe({ surface, route }, (performance.now() - begunAt) / 1_000);
        };
      },
      refused(reason) {
        if (refusedCodes.has(reason)) refusals.inc({ surface, reason });
      },
    };
  };
}
