/** Saves tables of the page as CSV files that a spreadsheet opens as UTF-8. */

// The mark by which spreadsheets recognize UTF-8.
const byteOrderMark = "\ufeff";

/** Saves a text as a file in the browser. */
export function saveFile(text: string, name: string): void {
  const href = URL.createObjectURL(new Blob([byteOrderMark, text], { type: "text/csv;charset=utf-8" }));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  URL.revokeObjectURL(href);
}
