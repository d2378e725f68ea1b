/** Tables of the page as CSV files (RFC 4180) that a spreadsheet opens without running anything in them. */

// A cell that begins with one of these is a formula to a spreadsheet (OWASP, CSV Injection, 2026); full-width ones too,
// and after spaces of any kind and quotes, which some programs remove.
const formulaStart = /^(?:[\s\p{Cf}"]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r])/u;
// Spreadsheets of countries that write a decimal comma split at semicolons, within quotes too: the text after one is a
// cell.
const formulaWithin = /;([\s\p{Cf}"]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/gu;
// The mark by which spreadsheets recognize UTF-8.
const byteOrderMark = "\ufeff";

export function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");
}

function cellOf(cell: string | number): string {
  if (typeof cell === "number") return String(cell);
  const harmless = (formulaStart.test(cell) ? `'${cell}` : cell).replace(formulaWithin, ";$1'");
  return /[",'\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

export function saveFile(text: string, name: string): void {
  const href = URL.createObjectURL(new Blob([byteOrderMark, text], { type: "text/csv;charset=utf-8" }));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  URL.revokeObjectURL(href);
}
