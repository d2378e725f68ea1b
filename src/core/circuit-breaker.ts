/** Which connections had better not be asked for a moment, because their last calls all failed. Each process knows only its own calls. */
import type { Connector, GatewayOutcome } from "../gateways/connector.ts";
import { breakerCalls, breakerConnectionsMax, breakerOpenMs, breakerWindowMs } from "../limits.ts";
import { unreachable } from "../platform/errors.ts";

/** What an answer tells about the connection itself. `nothing`: the trouble lies elsewhere, or was asked for. */
export type Health = "answered" | "failed" | "nothing";

/**
 * A yes or a no both come from a working gateway. Refused credentials, a vault that cannot be used and a card that is gone
 * say nothing of it, and neither does an error that a test card asked for.
 */
export function classifyHealth(outcome: GatewayOutcome, { failsOnRequest }: Pick<Connector, "failsOnRequest">): Health {
  switch (outcome.type) {
    case "held":
    case "declined":
      return "answered";
    case "unknown":
      return outcome.lostAtVault || failsOnRequest ? "nothing" : "failed";
    case "notProcessed":
      return outcome.cause === "connection_refused" || outcome.cause === "rate_limited" ? "failed" : "nothing";
    default:
      return unreachable(outcome);
  }
}

/**
 * Keeps nothing but the moments of each connection's last failures in a row. There is no half-open state: once the pause
 * is over calls go through again, and the next failure is judged by the same sentence. After five quick failures one more
 * is enough, because the four before it lie within the same minute.
 */
export class CircuitBreaker {
  /** In milliseconds, oldest first; a connection whose last call was answered has no entry. */
  readonly #failures = new Map<string, readonly number[]>();
  /** The gateways of those connections. */
  readonly #gateways = new Map<string, string>();

  /** Takes note of how a call to a connection of this gateway ended. */
  tell(connectionId: string, health: Health, now: Date, gateway = ""): void {
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

  /** The gateway of each connection that is left out now. */
  failingGateways(now: Date): string[] {
    return [...this.#gateways].flatMap(([connectionId, gateway]) =>
      this.isFailing(connectionId, now) ? [gateway] : [],
    );
  }

  /** Whether the last five calls failed within a minute, the last of them less than 30 s ago. */
  isFailing(connectionId: string, now: Date): boolean {
    const moments = this.#failures.get(connectionId) ?? [];
    const [first, last] = [moments[0], moments.at(-1)];
    if (first === undefined || last === undefined || moments.length < breakerCalls) return false;
    return last - first <= breakerWindowMs && now.getTime() - last < breakerOpenMs;
  }
}
