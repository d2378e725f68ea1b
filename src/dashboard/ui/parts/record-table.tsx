/** A table whose rows are cards or lines on a phone. */
import type { ReactNode } from "react";
import { TableScroll } from "./table-scroll.tsx";

/** A column. The heading of a hidden one is for screen readers only. */
export type RecordColumn = {
  readonly name: string;
  readonly isNumber?: boolean;
  readonly isHidden?: boolean;
  readonly className?: string;
};

/** A row; the first cell is its heading. */
export type RecordRow = { readonly key: string; readonly cells: readonly ReactNode[] };

// The roles are explicit because browsers drop those of a table whose rows are displayed as cards.
/**
 * The table. As `records`, its rows are cards on a phone, each value beside the name of its column. With the class
 * `linked`, a link in the heading of a row leads from every place in the row. With `lines`, no cell wraps.
 */
export function RecordTable(props: {
  label: string;
  columns: readonly RecordColumn[];
  rows: readonly RecordRow[];
  className?: string;
}) {
  const { label, columns, rows, className = "records" } = props;
  return (
    <TableScroll label={label}>
      {/* biome-ignore-start lint/a11y/noRedundantRoles: see above */}
      {/* biome-ignore-start lint/a11y/useFocusableInteractive: they are the roles of a plain table */}
      <table className={className} role="table">
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, isHidden, ...column }) => (
              <th key={name} scope="col" role="columnheader" className={classOf(column)}>
                {isHidden ? <span className="visually-hidden">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map(({ key, cells: [heading, ...cells] }) => (
            <tr key={key} role="row">
              <th scope="row" role="rowheader">
                <div>{heading}</div>
              </th>
              {columns.slice(1).map(({ name, isHidden, ...column }, index) => (
                <td key={name} role="cell" className={classOf(column)} data-label={isHidden ? undefined : name}>
                  <div>{cells[index]}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {/* biome-ignore-end lint/a11y/useFocusableInteractive: see above */}
      {/* biome-ignore-end lint/a11y/noRedundantRoles: see above */}
    </TableScroll>
  );
}

function classOf({ isNumber, className }: Pick<RecordColumn, "isNumber" | "className">): string | undefined {
  return isNumber ? "number" : className;
}
