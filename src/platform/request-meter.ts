/** Request metrics of a server; they contain neither the caller nor the content. */
import type { ServerResponse } from "node:http";
import type { DomainErrorCode } from "./errors.ts";

/** The end of a request: the first digit of its status, or no complete answer. */
export type RequestEnd = "2xx" | "3xx" | "4xx" | "5xx" | "gone";

/** Observes each request of one server. Neither call may throw. */
export type RequestMeter = {
  /** Records the start of a request. The returned function is called once, at its end, with the name of the route. */
  begin(): (route: string, end: RequestEnd) => void;
  /** Records a request refused with this code, whether or not it had begun here. */
  refused(code: DomainErrorCode): void;
};

export function requestEndOf(status: number): RequestEnd {
  if (status >= 500) return "5xx";
  if (status >= 400) return "4xx";
  return status >= 300 ? "3xx" : "2xx";
}

/** Counts a request when its connection releases the answer. `routeOf` is called then, and returns one of few names. */
export function meterResponse(meter: RequestMeter | undefined, response: ServerResponse, routeOf: () => string): void {
  if (meter === undefined) return;
  const end = meter.begin();
  response.once("close", () => end(routeOf(), response.writableFinished ? requestEndOf(response.statusCode) : "gone"));
}
