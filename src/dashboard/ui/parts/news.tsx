/** Says to a screen reader, and to nobody else, what came into a list that keeps itself up to date. */
import { useEffect, useRef, useState } from "react";

/** `rows` are the names of what the list holds now; `list` changes with its filters, whose first rows are no news. */
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
