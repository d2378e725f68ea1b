/** Checks that merchants received every event: genuine, complete, and twice only if it may be. PURE. */

/** An event in the database, with the endpoints that subscribe to it. */
export type EmittedEvent = {
  readonly eventId: string;
  readonly sessionId: string;
  readonly sequence: number;
  /** A hash of the exact bytes. */
  readonly bodyHash: string;
  readonly endpoints: readonly string[];
};

export type Arrival = {
  readonly endpoint: string;
  readonly eventId: string;
  readonly bodyHash: string;
  /** True if a stock verifier accepts it with the endpoint's secret. */
  readonly isGenuine: boolean;
};

export type ArrivalCheck = {
  readonly violations: readonly string[];
  /** `event at endpoint` of each repeated delivery. */
  readonly repeated: readonly string[];
};

/**
 * Compares the emitted events with the received ones. `mayRepeat` names the events that may have arrived more than
 * once.
 */
export function checkArrivals(
  emitted: readonly EmittedEvent[],
  arrivals: readonly Arrival[],
  mayRepeat: (eventId: string, endpoint: string) => boolean,
): ArrivalCheck {
  const came = Map.groupBy(arrivals, ({ eventId, endpoint }) => `${eventId} at ${endpoint}`);
  const known = new Set<string>();
  const violations = findGaps(emitted);
  const repeated: string[] = [];
  for (const { eventId, bodyHash, endpoints } of emitted) {
    for (const endpoint of endpoints) {
      const name = `${eventId} at ${endpoint}`;
      known.add(name);
      const copies = came.get(name) ?? [];
      if (copies.length === 0) violations.push(`${name} never arrived`);
      if (copies.some(({ isGenuine }) => !isGenuine)) violations.push(`${name} is refused by the verifier`);
      if (copies.some((copy) => copy.bodyHash !== bodyHash)) violations.push(`${name} arrived with other bytes`);
      if (copies.length > 1) repeated.push(name);
      if (copies.length > 1 && !mayRepeat(eventId, endpoint)) violations.push(`${name} arrived ${copies.length} times`);
    }
  }
  for (const name of came.keys()) if (!known.has(name)) violations.push(`${name} was never emitted`);
  return { violations, repeated };
}

/** Finds gaps: each session's events are counted from 1. */
function findGaps(emitted: readonly EmittedEvent[]): string[] {
  return [...Map.groupBy(emitted, ({ sessionId }) => sessionId)].flatMap(([sessionId, events]) => {
    const sequences = events.map(({ sequence }) => sequence).sort((left, right) => left - right);
    const isWhole = sequences.every((sequence, index) => sequence === index + 1);
    return isWhole ? [] : [`session ${sessionId} has a gap: ${sequences.join(", ")}`];
  });
}
