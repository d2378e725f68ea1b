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

type Ended = { readonly labels: { surface: Surface; route: string; end: RequestEnd }; value: number };

/** What one server's requests came to. Plain numbers: a request should not pay for labels that are looked at every 15 s. */
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

/** Registers the metrics; what it returns makes the meter of one server, whose routes are all of this list or `other`. */
export function createRequestMetrics({ counter, collected, collectedCounter, histogram }: MetricMaker) {
  const tallies = new Map<Surface, RequestTally>();
  collectedCounter(
    "requests_total",
    "Requests that are over, by what was asked for and how they ended; gone: no answer arrived whole.",
    ["surface", "route", "end"],
    () => [...tallies.values()].flatMap((tally) => [...tally.ended()]),
  );
  const duration = histogram(
    "request_duration_seconds",
    "From the head of a request to the end of its answer.",
    bucketsSeconds,
    "surface",
    "route",
  );
  collected("requests_in_flight", "Requests that are being answered now.", ["surface"], () =>
    [...tallies].map(([surface, { inFlight }]) => ({ labels: { surface }, value: inFlight })),
  );
  const refusals = counter(
    "requests_refused_total",
    "Requests refused for a limit of rate, size or time, or for trouble of our own.",
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
        return (asked: string, end: RequestEnd) => {
          const route = shownRoute(asked);
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
