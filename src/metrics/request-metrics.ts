/** Requests as metrics: of each server by route and end, with their durations, and refusals. */
import type { RequestEnd, RequestMeter } from "../platform/request-meter.ts";
import { closedLabel, type MetricMaker } from "./metric-maker.ts";

/** The servers whose requests are counted. */
export type Surface = "public" | "grpc" | "dashboard" | "vault";

/** The refusals that concern load or slow clients; others are mistakes of one caller. */
const countedRefusals = [
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

type Ended = { readonly labels: { surface: Surface; route: string; end: RequestEnd }; value: number };

/** Counts one server's requests. Plain numbers: a request should not pay for labels that are read every 15 s. */
class RequestTally {
  inFlight = 0;
  readonly #surface: Surface;
  readonly #ended = new Map<string, Ended>();

  constructor(surface: Surface) {
    this.#surface = surface;
  }

  count(route: string, end: RequestEnd): void {
    const key = `${route} ${end}`;
    const ended = this.#ended.get(key);
    if (ended !== undefined) ended.value++;
    else this.#ended.set(key, { labels: { surface: this.#surface, route, end }, value: 1 });
  }

  ended(): Iterable<Ended> {
    return this.#ended.values();
  }
}

/** Registers the calls of internal services; returns what counts one. The names are those of the services' file. */
export function createServiceMetrics({ counter }: Pick<MetricMaker, "counter">) {
  const calls = counter(
    "service_calls_total",
    "Calls of internal services that were admitted, by the name of the service.",
    "environment",
    "service",
  );
  return ({ environment, service }: { readonly environment: string; readonly service: string }) =>
    calls.inc({ environment, service });
}

/**
 * Registers the metrics; returns a function that creates the meter of one server, whose routes are all of this list or
 * `other`.
 */
export function createRequestMetrics({ counter, collected, collectedCounter, histogram }: MetricMaker) {
  const tallies = new Map<Surface, RequestTally>();
  collectedCounter(
    "requests_total",
    "Finished requests by route and result; gone: the client disconnected before the whole response.",
    ["surface", "route", "end"],
    () => [...tallies.values()].flatMap((tally) => [...tally.ended()]),
  );
  const duration = histogram(
    "request_duration_seconds",
    "Time from the head of a request to the end of its response.",
    bucketsSeconds,
    "surface",
    "route",
  );
  collected("requests_in_flight", "Requests in progress.", ["surface"], () =>
    [...tallies].map(([surface, { inFlight }]) => ({ labels: { surface }, value: inFlight })),
  );
  const refusals = counter(
    "requests_refused_total",
    "Requests refused because of a limit of rate, size or time, or an internal problem.",
    "surface",
    "reason",
  );

  return function meterOf(surface: Surface, routes: readonly string[]): RequestMeter {
    const shownRoute = closedLabel(routes);
    const refusedCodes: ReadonlySet<string> = new Set(countedRefusals);
    const tally = tallies.get(surface) ?? new RequestTally(surface);
    tallies.set(surface, tally);
    for (const reason of countedRefusals) refusals.inc({ surface, reason }, 0);
    return {
      begin() {
        const begunAt = performance.now();
        tally.inFlight++;
        return (requested: string, end: RequestEnd) => {
          const route = shownRoute(requested);
          tally.inFlight--;
          tally.count(route, end);
          duration.observe({ surface, route }, (performance.now() - begunAt) / 1_000);
        };
      },
      refused(reason) {
        if (refusedCodes.has(reason)) refusals.inc({ surface, reason });
      },
    };
  };
}
