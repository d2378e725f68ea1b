/** Reads that callers share for a moment, so that a busy process does not repeat them for each of its requests. */

/**
 * Returns the value that was read under this key a moment ago, or reads it. Several callers may share the value, so it
 * must not be changed.
 */
export type Hold = <Value>(key: string, read: () => Promise<Value>) => Promise<Value>;

type Held = { readonly value: Promise<unknown>; readonly endsAt: number };

/** Reads again `heldMs` after a read began, and at once after one that failed. */
export function createHold(heldMs: number): Hold {
  // The held values in the order of their ends.
  const held = new Map<string, Held>();
  return async (key, read) => {
    const now = performance.now();
    for (const [oldest, { endsAt }] of held) {
      if (now < endsAt) break;
      held.delete(oldest);
    }
    const known = held.get(key);
    if (known !== undefined) return known.value as ReturnType<typeof read>;
    const reading = { value: read(), endsAt: now + heldMs };
    held.set(key, reading);
    reading.value.catch(() => {
      if (held.get(key) === reading) held.delete(key);
    });
    return reading.value;
  };
}
