/** A table of the page with its CSV file, folded until it is opened. */
import type { ReactNode } from "react";
import { CsvButton } from "./csv-button.tsx";

/** The section. `about` says in a few words what it counts; `rows` returns the file, its headings first. */
export function Fold(props: {
  id: string;
  title: string;
  about?: string;
  rows?: (() => readonly (readonly (string | number)[])[]) | undefined;
  isOpen?: boolean;
  children: ReactNode;
}) {
  const { id, title, about, rows, isOpen, children } = props;
  return (
    <section aria-labelledby={id}>
      <details open={isOpen}>
        <summary>
          <h2 id={id}>{title}</h2>
          {about && <span className="soft small">{about}</span>}
        </summary>
        <div>
          {children}
          {rows && (
            <div className="csv">
              <CsvButton title={title} id={id} rows={rows} />
            </div>
          )}
        </div>
      </details>
    </section>
  );
}
