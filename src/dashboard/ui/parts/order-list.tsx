/** A list that a person puts in order by drag, keyboard or labelled buttons. */
import { lazy, Suspense } from "react";
import type { DragListProps, OrderRow } from "./drag-list.tsx";

type ListProps = DragListProps & { readonly mayChange: boolean };

// Drag and drop is an eighth of the page, so it is loaded once the list is shown, and only for those who may use it. If it
// cannot be loaded, the rows have their buttons.
const DragList = lazy(async () => ({
  default: await import("./drag-list.tsx").then(
    (loaded) => loaded.DragList,
    () => PlainList,
  ),
}));

/** The list; empty without rows. Its controls wait until rows can be dragged, so that none is replaced under a click. */
export function OrderList({ mayChange, ...list }: ListProps) {
  if (list.rows.length === 0) return null;
  if (!mayChange) return <PlainList {...list} />;
  return (
    <Suspense fallback={<PlainList {...list} isWaiting />}>
      <DragList {...list} />
    </Suspense>
  );
}

type PlainProps = { readonly labelledBy: string; readonly rows: readonly OrderRow[]; readonly isWaiting?: boolean };

function PlainList({ labelledBy, rows, isWaiting = false }: PlainProps) {
  return (
    <ul className="order" aria-labelledby={labelledBy} inert={isWaiting}>
      {rows.map(({ id, content }) => (
        <li className="order-row" key={id}>
          {isWaiting && <span className="order-handle" />}
          {content}
        </li>
      ))}
    </ul>
  );
}
