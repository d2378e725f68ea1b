/**
 * Bounds the background work that waits for one gateway, so that a silent one does not delay the work at others. Each
 * process knows only its own.
 */

import { submissionsInFlightMax } from "../../limits.ts";
import type { ConnectionId } from "../../platform/ids.ts";

/** The account at a gateway that work waits for. */
export type Called = { readonly connectionId: ConnectionId; readonly gateway: string };

export type Full = { readonly connections: readonly string[]; readonly gateways: readonly string[] };

/** Counts the work in progress at each connection and gateway, against a bound for either. */
export class GatewaySlots {
  readonly #bounds: { readonly connection: number; readonly gateway: number };
  readonly #running = new Map<Promise<unknown>, Called>();

  constructor(bounds: { readonly connection: number; readonly gateway: number }) {
    this.#bounds = bounds;
  }

  /** Returns the slots for repeated captures and voids: a silent account gets a sixteenth of recovery, a gateway a quarter. */
  static forRepeats(): GatewaySlots {
    return new GatewaySlots({ connection: submissionsInFlightMax / 16, gateway: submissionsInFlightMax / 4 });
  }

  get running(): readonly Promise<unknown>[] {
    return [...this.#running.keys()];
  }

  full(): Full {
    const atBound = (names: readonly string[], bound: number) =>
      [...Map.groupBy(names, (name) => name)].flatMap(([name, { length }]) => (length >= bound ? [name] : []));
    const called = [...this.#running.values()];
    return {
      connections: atBound(
        called.map(({ connectionId }) => connectionId),
        this.#bounds.connection,
      ),
      gateways: atBound(
        called.map(({ gateway }) => gateway),
        this.#bounds.gateway,
      ),
    };
  }

  hasRoom({ connectionId, gateway }: Called): boolean {
    const { connections, gateways } = this.full();
    return !connections.includes(connectionId) && !gateways.includes(gateway);
  }

  /** Counts work until it has ended. */
  occupy<Result>({ connectionId, gateway }: Called, work: Promise<Result>): Promise<Result> {
    const counted = work.finally(() => this.#running.delete(counted));
    this.#running.set(counted, { connectionId, gateway });
    return counted;
  }
}
