/** The rows of an ordered list that can be dragged, by pointer and by keyboard. */
import type { ReactNode } from "react";
import { Button } from "react-aria-components/Button";
import { GridList, GridListItem } from "react-aria-components/GridList";
import { type DroppableCollectionReorderEvent, useDragAndDrop } from "react-aria-components/useDragAndDrop";
import { reordered } from "./reorder.ts";

/** A row: `name` is its accessible name, `content` what it shows. */
export type OrderRow = { readonly id: string; readonly name: string; readonly content: ReactNode };

/** An ordered list; `labelledBy` is the id of its heading. */
export type DragListProps = {
  readonly labelledBy: string;
  readonly rows: readonly OrderRow[];
  readonly onOrder: (ids: string[]) => void;
};

export function DragList({ labelledBy, rows, onOrder }: DragListProps) {
  const ids = rows.map(({ id }) => id);
  const onReorder = ({ keys, target }: DroppableCollectionReorderEvent) => {
    const place = target.dropPosition === "before" ? "before" : "after";
    onOrder(reordered(ids, new Set([...keys].map(String)), { target: String(target.key), place }));
  };
  const { dragAndDropHooks } = useDragAndDrop({
    getItems: (keys) => [...keys].map((key) => ({ "text/plain": String(key) })),
    onReorder,
  });
  return (
    <GridList
      className="order"
      aria-labelledby={labelledBy}
      items={rows}
      dragAndDropHooks={dragAndDropHooks}
      keyboardNavigationBehavior="tab"
    >
      {({ id, name, content }) => (
        <GridListItem id={id} className="order-row" textValue={name}>
          <Button slot="drag" className="order-handle" aria-label={`Drag ${name}`}>
            <span aria-hidden="true">⠿</span>
          </Button>
          {content}
        </GridListItem>
      )}
    </GridList>
  );
}
