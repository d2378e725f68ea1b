/** Announces new rows of a live list to screen readers only. */
import { useEffect, useRef, useState } from "react";

/**
 * The announcement. `rows` are the names of the list's current rows; `list` changes with its filters, whose first rows
 * are not announced.
 */
export function News({ list, rows, what }: { list: string; rows: readonly string[]; what: [string, string] }) {
  const known = useRef<{ list: string; rows: Set<string> }>(undefined);
  const [news, setNews] = useState("");
  useEffect(() => {
    const before = known.current;
    known.current = { list, rows: new Set([...(before?.list === list ? before.rows : []), ...rows]) };
    if (before?.list !== list) return setNews("");
    const count = rows.filter((row) => !before.rows.has(row)).length;
    if (count > 0) setNews(`${count} ${count === 1 ? what[0] : what[1]}`);
  }, [list, rows, what]);
  return (
    <p className="visually-hidden" aria-live="polite">
      {news}
    </p>
  );
}
