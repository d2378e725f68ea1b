/** Whether merchants got what happened: every event at every endpoint, genuine, whole, and twice only where it may be. PURE. */

/** An event as the database has it, with the endpoints that want it. */
export type ToldEvent = {
  readonly eventId: string;
  readonly sessionId: string;
  readonly sequence: number;
  /** Of the exact bytes. */
  readonly bodyHash: string;
  readonly endpoints: readonly string[];
};

/** A webhook as a receiver got it. */
export type Arrival = {
  readonly endpoint: string;
  readonly eventId: string;
  readonly bodyHash: string;
  /** Whether a stock verifier takes it with the endpoint's secret. */
  readonly isGenuine: boolean;
};

/** What is wrong, a sentence each, and what came more than once. */
export type ArrivalCheck = {
  readonly violations: readonly string[];
  /** `event at endpoint` of whatever came again. */
  readonly repeated: readonly string[];
};

/** Compares what was told with what came. `mayRepeat` names the events that may have come more than once. */
export function checkArrivals(
  told: readonly ToldEvent[],
  arrivals: readonly Arrival[],
  mayRepeat: (eventId: string, endpoint: string) => boolean,
): ArrivalCheck {
  const came = Map.groupBy(arrivals, ({ eventId, endpoint }) => `${eventId} at ${endpoint}`);
  const known = new Set<string>();
  const violations = findGaps(told);
  const repeated: string[] = [];
  for (const { eventId, bodyHash, endpoints } of told) {
    for (const endpoint of endpoints) {
      const name = `${eventId} at ${endpoint}`;
      known.add(name);
      const copies = came.get(name) ?? [];
      if (copies.length === 0) violations.push(`${name} never came`);
      if (copies.some(({ isGenuine }) => !isGenuine)) violations.push(`${name} is refused by the verifier`);
      if (copies.some((copy) => copy.bodyHash !== bodyHash)) violations.push(`${name} came with other bytes`);
      if (copies.length > 1) repeated.push(name);
      if (copies.length > 1 && !mayRepeat(eventId, endpoint)) violations.push(`${name} came ${copies.length} times`);
    }
  }
  for (const name of came.keys()) if (!known.has(name)) violations.push(`${name} was never told`);
  return { violations, repeated };
}

/** Each session's events are counted from 1. */
function findGaps(told: readonly ToldEvent[]): string[] {
  return [...Map.groupBy(told, ({ sessionId }) => sessionId)].flatMap(([sessionId, events]) => {
    const sequences = events.map(({ sequence }) => sequence).sort((left, right) => left - right);
    const isWhole = sequences.every((sequence, index) => sequence === index + 1);
    return isWhole ? [] : [`session ${sessionId} has a gap: ${sequences.join(", ")}`];
  });
}
