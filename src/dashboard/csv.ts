/** Comma-separated lines (RFC 4180) that a spreadsheet can open without running anything in them. PURE. */

// A cell that begins with one of these is a formula to a spreadsheet (OWASP, CSV Injection, 2026); full-width ones too,
// and after spaces of any kind and quotes, which some programs remove.
const formulaStart = /^(?:[\s\p{Cf}"]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r])/u;
// Spreadsheets of countries that write a decimal comma split at semicolons, within quotes too: the text after one is a
// cell.
const formulaWithin = /;([\s\p{Cf}"]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/gu;
// Characters that are invisible or change the direction of the text around them. They are written as escapes, so that a
// cell reads as it is stored.
const unseen = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** A number of fixed decimals that is ours, such as -1.00: text that begins like that could be a formula. */
export type CsvDecimal = { readonly decimal: string };

/** Returns one line with its line end. Numbers are unchanged, negative ones too. */
export function csvLine(cells: readonly (string | number | CsvDecimal)[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: string | number | CsvDecimal): string {
  if (typeof cell === "number") return String(cell);
  if (typeof cell === "object") return cell.decimal;
  const harmless = (formulaStart.test(cell) ? `'${cell}` : cell).replace(formulaWithin, ";$1'");
  const shown = harmless.replace(unseen, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return /[",'\r\n]|^\s|\s$/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}
