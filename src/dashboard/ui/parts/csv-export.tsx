/** Writes the rows of a list to a CSV file in the browser, however many there are. */
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Button } from "./button.tsx";
import { Refusal } from "./refusal.tsx";

export type CsvPage = { readonly csv: string; readonly rows: number; readonly nextPageToken: string };

/** A button that shows its progress and can be stopped. `what` names the rows, such as payments. */
export function CsvExport(props: {
  file: string;
  what: string;
  action?: string;
  loadPage: (pageToken: string, options: { signal: AbortSignal }) => Promise<CsvPage>;
}) {
  const { file, what, action = "Export CSV", loadPage } = props;
  const [count, setCount] = useState(0);
  const stop = useRef<AbortController>(undefined);
  const write = useMutation({
    mutationFn: async () => {
      stop.current = new AbortController();
      const { signal } = stop.current;
      setCount(0);
      const parts: string[] = [];
      for (let pageToken = ""; ; ) {
        const page = await loadPage(pageToken, { signal });
        parts.push(page.csv);
        setCount((before) => before + page.rows);
        pageToken = page.nextPageToken;
        if (pageToken === "") return save(parts, file);
      }
    },
  });
  const isStopped = stop.current?.signal.aborted ?? false;
  return (
    <div className="row csv-export">
      <Button runs={write}>{write.isPending ? `${count.toLocaleString()} written…` : action}</Button>
      {write.isPending && (
        <Button kind="plain" onPress={() => stop.current?.abort()}>
          Stop
        </Button>
      )}
      <span className={write.isSuccess ? "soft small" : "visually-hidden"} role="status">
        {write.isSuccess ? `${count.toLocaleString()} ${what} are in the file.` : ""}
      </span>
      {!isStopped && <Refusal error={write.error} />}
    </div>
  );
}

// The mark by which spreadsheets recognize UTF-8.
const byteOrderMark = "\ufeff";

function save(parts: readonly string[], name: string): void {
  const href = URL.createObjectURL(new Blob([byteOrderMark, ...parts], { type: "text/csv;charset=utf-8" }));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  URL.revokeObjectURL(href);
}
