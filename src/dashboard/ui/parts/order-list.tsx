/** A list that a person puts in order by drag, keyboard or labelled buttons. */
import { lazy, Suspense } from "react";
import type { OrderRow } from "./drag-list.tsx";

type ListProps = {
  /** Id of the heading. */
  readonly labelledBy: string;
  readonly rows: readonly OrderRow[];
  readonly mayChange: boolean;
  readonly onOrder: (ids: string[]) => void;
};

// Drag and drop is a tenth of the page, so it is loaded once the list is shown, and only for those who may use it.
const DragList = lazy(async () => ({ default: (await import("./drag-list.tsx")).DragList }));

/** The list; empty without rows. Its controls wait until rows can be dragged, so that none is replaced under a click. */
export function OrderList({ labelledBy, rows, mayChange, onOrder }: ListProps) {
  if (rows.length === 0) return null;
  const list = (
    <ul className="order" aria-labelledby={labelledBy} inert={mayChange}>
      {rows.map(({ id, content }) => (
        <li className="order-row" key={id}>
          {mayChange && <span className="order-handle" />}
          {content}
        </li>
      ))}
    </ul>
  );
  if (!mayChange) return list;
  return (
    <Suspense fallback={list}>
      <DragList labelledBy={labelledBy} rows={rows} onOrder={onOrder} />
    </Suspense>
  );
}
