/** Tests that only a long run takes, beside one of the same kind that every run takes. */

/** `x-all.long.test.ts` sets `all` before it loads `x.test.ts`. */
export const testsTaken = { all: false };

export function longOnly(define: () => void): void {
  if (testsTaken.all) define();
}
