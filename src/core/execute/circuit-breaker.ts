/**
 * The circuit breaker: leaves out connections for a while when their last calls all failed. Each process knows only its
 * own calls.
 */

import type { Connector, GatewayOutcome } from "../../gateways/connector.ts";
import { breakerCalls, breakerConnectionsMax, breakerOpenMs, breakerWindowMs } from "../../limits.ts";
import { unreachable } from "../../platform/errors.ts";
import type { ConnectionId } from "../../platform/ids.ts";

/** Says what an answer means for the connection itself. `nothing`: the fault lies elsewhere, or was requested. */
export type Health = "answered" | "failed" | "nothing";

/**
 * Classifies an answer. An authorization and a decline both come from a working gateway. Refused credentials, an
 * unusable vault and a missing card say nothing about it; neither does an answer that leaves open what was done, or an
 * error that a test card requested.
 */
export function classifyHealth(outcome: GatewayOutcome, { failsOnRequest }: Pick<Connector, "failsOnRequest">): Health {
  switch (outcome.type) {
    case "held":
    case "declined":
    case "actionNeeded":
      return "answered";
    case "unknown":
      return outcome.lostAtVault || outcome.isAnswered || failsOnRequest ? "nothing" : "failed";
    case "notProcessed":
      return outcome.cause === "connection_refused" || outcome.cause === "rate_limited" ? "failed" : "nothing";
    default:
      return unreachable(outcome);
  }
}

/**
 * Keeps only the times of each connection's last failures in a row. There is no half-open state: once the pause is
 * over, calls go through again, and the same rule judges the next failure. After five quick failures one more is
 * enough, because the four before it lie within the same minute.
 */
export class CircuitBreaker {
  /** Failure times in milliseconds, oldest first. A connection whose last call was answered has no entry. */
  readonly #failures = new Map<ConnectionId, readonly number[]>();
  readonly #gateways = new Map<ConnectionId, string>();

  /** Records how a call to a connection of this gateway ended. */
  record(connectionId: ConnectionId, health: Health, now: Date, gateway = ""): void {
    if (health === "nothing") return;
    const before = this.#failures.get(connectionId) ?? [];
    this.#failures.delete(connectionId);
    this.#gateways.delete(connectionId);
    if (health === "answered") return;
    this.#failures.set(connectionId, [...before, now.getTime()].slice(-breakerCalls));
    this.#gateways.set(connectionId, gateway);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size <= breakerConnectionsMax || oldest === undefined) return;
    this.#failures.delete(oldest);
    this.#gateways.delete(oldest);
  }

  failingGateways(now: Date): string[] {
    return [...this.#gateways].flatMap(([connectionId, gateway]) =>
      this.isFailing(connectionId, now) ? [gateway] : [],
    );
  }

  /** Reports whether the last five calls failed within a minute and the last of them less than 30 s ago. */
  isFailing(connectionId: ConnectionId, now: Date): boolean {
    const moments = this.#failures.get(connectionId) ?? [];
    const [first, last] = [moments[0], moments.at(-1)];
    if (first === undefined || last === undefined || moments.length < breakerCalls) return false;
    return last - first <= breakerWindowMs && now.getTime() - last < breakerOpenMs;
  }
}
