/**
 * Cells: an environment is one database, or several numbered ones that each hold some of the merchants
 * (docs/scaling.md). An id that a cell makes names the cell, so that it is found without a query.
 */
import { DomainError } from "./errors.ts";

export const firstCell = 1;

/** The highest number of a cell: one digit of an API key and six bits of an id hold it. */
export const cellsMax = 61;

/** Returns a UUID whose last six bits, random until then, are the cell's number. */
export function inCell(uuid: string, cell: number): string {
  const last = (Number.parseInt(uuid.slice(-2), 16) & 0xc0) | cell;
  return uuid.slice(0, -2) + last.toString(16).padStart(2, "0");
}

/** Returns the number of the cell that made an id; any number for an id that was not made in a cell. */
export function cellOf(uuid: string): number {
  return Number.parseInt(uuid.slice(-2), 16) & 0x3f;
}

/** Returns the name of an environment's cell in logs, metrics and NATS: `live` for the first one, then `live-2`. */
export function nameOfCell(environment: string, cell: number): string {
  return cell === firstCell ? environment : `${environment}-${cell}`;
}

/** A cell of an environment, with all that this process serves; undefined if there is only one. */
type InCells<Cell> = {
  readonly cells?: ReadonlyMap<number, Cell> | undefined;
};

/** Returns the cell with this number; the only cell of an environment whatever the number; undefined if it is not served. */
export function findCell<Cell extends InCells<Cell>>(of: Cell, cell: number): Cell | undefined {
  return of.cells === undefined ? of : of.cells.get(cell);
}

/** Returns the cell that is known to have a merchant. Throws `unavailable` if this process does not serve it. */
export function requireCell<Cell extends InCells<Cell>>(of: Cell, cell: number): Cell {
  const found = findCell(of, cell);
  if (found === undefined) throw new DomainError("unavailable", "This server does not serve the merchant's data.");
  return found;
}
