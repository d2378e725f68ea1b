/** The ends of a chart's vertical axis. PURE. */

// An axis of rates shows at least six points and at most fifty, so that three points of difference are always seen.
const [closestSpan, widestSpan] = [0.06, 0.5];

/**
 * Returns the ends of an axis for these values. It begins at zero, but where small differences count: then it begins
 * below the lowest value, and cuts off values far below the highest.
 */
export function rangeOf(
  lowest: number | null,
  highest: number | null,
  { isRate = false, isClose = false }: { isRate?: boolean | undefined; isClose?: boolean | undefined },
): [number, number] {
  if (isClose && lowest !== null && highest !== null) {
    const room = Math.max(0.005, (highest - lowest) / 10);
    const end = Math.min(1, highest + room);
    const begin = Math.max(end - widestSpan, Math.min(lowest - room, end - closestSpan));
    return [Math.max(0, begin), end];
  }
  const end = (highest ?? 0) * 1.08 || 1;
  return [0, isRate ? Math.min(1, Math.max(end, 0.05)) : end];
}
