/** Tokenize calls are counted per session as well, so that one session cannot use up its merchant's count. */

export const name = "002-session-counts";

export const sql = `
ALTER TABLE tokenize_count
  DROP CONSTRAINT tokenize_count_counted_by_check,
  ADD CONSTRAINT tokenize_count_counted_by_check CHECK (counted_by IN ('session', 'address', 'merchant'));
`;
