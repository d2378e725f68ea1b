/**
 * Bounds the background work that waits for one gateway, so that a silent one does not delay the work at others. Each
 * process knows only its own.
 */
import type { Turn } from "../platform/loop.ts";
import type { Core } from "./core.ts";

/** The account at a gateway that work waits for. */
export type Called = { readonly connectionId: string; readonly gateway: string };

/** The connections and gateways at which no more work may begin. */
type Full = { readonly connections: readonly string[]; readonly gateways: readonly string[] };

/** Counts the work in progress at each connection and gateway, against a bound for either. */
export class GatewaySlots {
  readonly #bounds: { readonly connection: number; readonly gateway: number };
  readonly #running = new Map<Promise<unknown>, Called>();

  constructor(bounds: { readonly connection: number; readonly gateway: number }) {
    this.#bounds = bounds;
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

/** Takes the next due row, of none of these connections and gateways, and moves its time ahead. */
export type Take<Taken> = (full: Full) => Promise<Taken | undefined>;

// Rows that one turn takes up.
const batch = 32;
// A few at each account, and several silent accounts before their gateway takes no more; each waits for up to 20 s.
const bounds = { connection: 4, gateway: 16 };
// Time after which a turn ends that waits for gateways: the next one looks for rows that have become due.
const lookAgainMs = 1_000;

/**
 * Returns the turns of a loop that works on due rows side by side. A turn begins with what is due, and waits until a part
 * of the work has ended, for a second at most. It returns true while there may be more or work is in progress, and throws
 * the first failure since the last turn. An orderly stop waits for `core.inFlight`.
 */
export function createGatewayTurn<Taken extends Called>(
  core: Core,
  { take, work }: { take: Take<Taken>; work: (taken: Taken) => Promise<void> },
): Turn {
  const slots = new GatewaySlots(bounds);
  const failures: unknown[] = [];

  function begin(taken: Taken): void {
    const working = slots.occupy(
      taken,
      work(taken).catch((error) => void failures.push(error)),
    );
    core.inFlight.add(working);
    void working.then(() => core.inFlight.delete(working));
  }

  return async (closing) => {
    let isMore = true;
    for (let count = 0; isMore && count < batch && !closing.aborted; count++) {
      const taken = await take(slots.full());
      if (taken === undefined) isMore = false;
      else begin(taken);
    }
    const { running } = slots;
    if (running.length > 0) await Promise.race([...running, core.sleep(lookAgainMs, closing)]);
    const [failure] = failures.splice(0);
    if (failure !== undefined) throw failure;
    // A row whose step has ended may be due again.
    return isMore || running.length > 0;
  };
}
