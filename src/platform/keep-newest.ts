/** A bounded map of recently used entries. PURE. */

/** Sets an entry of a map that is ordered by last use, and evicts the entry that was unused for longest. */
export function keepNewest<Value>(
  map: Map<string, Value>,
  [key, value]: readonly [string, Value],
  entriesMax: number,
): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.size > entriesMax ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}
