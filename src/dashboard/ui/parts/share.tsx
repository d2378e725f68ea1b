/** A part of a whole, as a rate and as a bar. */
import { formatRate } from "./numbers.ts";

export function Share({ part, of }: { part: number; of: number }) {
  return (
    <span className="share">
      {formatRate(part / of)}
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect width={(100 * part) / of} height="8" />
      </svg>
    </span>
  );
}
