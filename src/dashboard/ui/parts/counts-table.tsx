/** A table of counts: a row for each gateway or provider, a column for each count. */
import { nameOfGateway } from "./gateway-name.ts";
import { TableScroll } from "./table-scroll.tsx";

/** A column: its heading, and the text of a row in it. */
export type CountsColumn<Row> = readonly [heading: string, text: (row: Row) => string];

/** The table. `label` names it for screen readers. */
export function CountsTable<Row extends { readonly gateway: string }>({
  label,
  first,
  rows,
  columns,
}: {
  label: string;
  /** The heading of the column of names. */
  first: string;
  rows: readonly Row[];
  columns: readonly CountsColumn<Row>[];
}) {
  return (
    <TableScroll label={label}>
      <table className="counts">
        <thead>
          <tr>
            {[first, ...columns.map(([heading]) => heading)].map((heading) => (
              <th scope="col" key={heading}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.gateway}>
              <th scope="row">{nameOfGateway(row.gateway)}</th>
              {columns.map(([heading, text]) => (
                <td key={heading}>{text(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}
