/**
 * Bounds password hashes: a few run at once and a few wait, because each takes memory and a core, and strangers can
 * request them.
 */
import { DomainError } from "../platform/errors.ts";

// Password hashes at once: half of node's threads, so that files and names are still read; each takes 19 MiB.
const hashesAtOnce = 2;
// Waiting hashes of each kind, some 30 ms of a core each: half a second for strangers, and as much for the others.
const hashesWaitingMax = { member: 16, browser: 16, stranger: 32 } as const;
// Waiting hashes of one member or address behind the running one: a member's two pages; for an address, an office that
// signs in at once.
const hashesWaitingEachMax = { member: 2, browser: 2, stranger: 12 } as const;
// Time after which a refused client may retry.
const hashPauseMs = 2_000;

const kinds = ["member", "browser", "stranger"] as const;

/**
 * The requester of a hash: a signed-in member, a browser that a member has signed in by before, or a stranger by their
 * address. Each kind has its own places, and each name within it.
 */
export type Hasher = { readonly kind: (typeof kinds)[number]; readonly name: string };

type Waiting = { readonly hasher: Hasher; readonly begin: () => void };

/** The hashes of one process: one at a time for each name, names of a kind in turn, and the kinds in turn. */
export class HashQueue {
  readonly #running = new Set<string>();
  #places = hashesAtOnce;
  /** The first kind is the next one, and the first waiting of a kind is its next one. */
  readonly #turns = kinds.map((kind) => ({ kind, waiting: [] as Waiting[] }));

  /** Throws if the hasher cannot be admitted: call it before anything is counted. */
  requireRoom({ kind, name }: Hasher): void {
    const waiting = this.#waitingOf(kind);
    if (waiting.filter(({ hasher }) => hasher.name === name).length >= hashesWaitingEachMax[kind]) {
      throw new DomainError(
        "rate_limited",
        "Too many passwords are being checked for you. Wait a moment, then try again.",
        {
          retryAfterMs: hashPauseMs,
        },
      );
    }
    if (waiting.length < hashesWaitingMax[kind]) return;
    throw new DomainError("unavailable", "Many people sign in at this moment. Try again in a few seconds.", {
      retryAfterMs: hashPauseMs,
    });
  }

  async run<Result>(hasher: Hasher, work: () => Promise<Result>): Promise<Result> {
    this.requireRoom(hasher);
    await new Promise<void>((begin) => {
      this.#waitingOf(hasher.kind).push({ hasher, begin });
      this.#fillPlaces();
    });
    try {
      return await work();
    } finally {
      this.#running.delete(keyOf(hasher));
      this.#places += 1;
      this.#fillPlaces();
    }
  }

  #fillPlaces(): void {
    while (this.#places > 0) {
      const next = this.#takeNext();
      if (next === undefined) return;
      this.#places -= 1;
      this.#running.add(keyOf(next.hasher));
      next.begin();
    }
  }

  /** Removes the request that has waited longest of the next kind; the kind, and the name's others, then come last. */
  #takeNext(): Waiting | undefined {
    for (const [turn, { waiting }] of this.#turns.entries()) {
      const index = waiting.findIndex(({ hasher }) => !this.#running.has(keyOf(hasher)));
      if (index === -1) continue;
      const [next] = waiting.splice(index, 1);
      const others = waiting.filter(({ hasher }) => hasher.name === next!.hasher.name);
      waiting.splice(0, waiting.length, ...waiting.filter((each) => !others.includes(each)), ...others);
      this.#turns.push(...this.#turns.splice(turn, 1));
      return next;
    }
    return undefined;
  }

  #waitingOf(kind: Hasher["kind"]): Waiting[] {
    return this.#turns.find((turn) => turn.kind === kind)!.waiting;
  }
}

function keyOf({ kind, name }: Hasher): string {
  return `${kind} ${name}`;
}
