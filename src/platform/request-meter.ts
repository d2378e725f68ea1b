/** What a server tells of its requests, for whoever counts them; it says nothing of who asks or what for. */
import type { ServerResponse } from "node:http";
import type { DomainErrorCode } from "./errors.ts";

/** How a request ended: by the first digit of its status, or without an answer that arrived whole. */
export type RequestEnd = "2xx" | "3xx" | "4xx" | "5xx" | "gone";

/** Told of each request of one server. Neither call may throw. */
export type RequestMeter = {
  /** A request has begun. What is returned is called once, at its end, with the name of what was asked for. */
  begin(): (route: string, end: RequestEnd) => void;
  /** A request is refused for this, whether or not it had begun for us. */
  refused(code: DomainErrorCode): void;
};

/** The end of a request by the status of its answer. */
export function requestEndOf(status: number): RequestEnd {
  if (status >= 500) return "5xx";
  if (status >= 400) return "4xx";
  return status >= 300 ? "3xx" : "2xx";
}

/** Has a request counted when its connection lets go of the answer. `routeOf` is asked then, and names one of few. */
export function meterResponse(meter: RequestMeter | undefined, response: ServerResponse, routeOf: () => string): void {
  if (meter === undefined) return;
  const end = meter.begin();
  response.once("close", () => end(routeOf(), response.writableFinished ? requestEndOf(response.statusCode) : "gone"));
}
