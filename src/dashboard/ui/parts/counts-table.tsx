/** A table of counts: a row for each gateway or provider, a column for each count. */
import { nameOfGateway } from "./gateway-name.ts";
import { formatCount, formatMs, formatRate } from "./numbers.ts";
import { RecordTable } from "./record-table.tsx";

/** A column: its heading, the text of a row in it, and its number for the CSV file. */
export type CountsColumn<Row> = readonly [
  heading: string,
  text: (row: Row) => string,
  number: (row: Row) => number | undefined,
];

export function countColumn<Row>(heading: string, of: (row: Row) => bigint): CountsColumn<Row> {
  return [heading, (row) => formatCount(of(row)), (row) => Number(of(row))];
}

/** A column of rates, which are fractions of 1 in the CSV file. */
export function rateColumn<Row>(heading: string, of: (row: Row) => number | undefined): CountsColumn<Row> {
  return [heading, (row) => formatRate(of(row)), of];
}

/** A column of durations, which are milliseconds in the CSV file. */
export function msColumn<Row>(heading: string, of: (row: Row) => number | undefined): CountsColumn<Row> {
  return [heading, (row) => formatMs(of(row)), of];
}

/** Returns the rows of the table for a CSV file, its headings first. */
export function csvRows<Row extends { readonly gateway: string }>({ first, rows, columns }: CountsTableProps<Row>) {
  return [
    [first, ...columns.map(([heading]) => heading)],
    ...rows.map((row) => [nameOfGateway(row.gateway), ...columns.map(([, , number]) => number(row) ?? "")]),
  ];
}

type CountsTableProps<Row> = {
  readonly first: string;
  readonly rows: readonly Row[];
  readonly columns: readonly CountsColumn<Row>[];
};

/** The table. `label` names it for screen readers. */
export function CountsTable<Row extends { readonly gateway: string }>({
  label,
  first,
  rows,
  columns,
}: CountsTableProps<Row> & { readonly label: string }) {
  return (
    <RecordTable
      label={label}
      className="counts"
      columns={[first, ...columns.map(([heading]) => heading)].map((name) => ({ name }))}
      rows={rows.map((row) => ({
        key: row.gateway,
        cells: [nameOfGateway(row.gateway), ...columns.map(([, text]) => text(row))],
      }))}
    />
  );
}
