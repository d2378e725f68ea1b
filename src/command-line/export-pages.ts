/** Writes an export to a file of its own, page by page. */
import { existsSync, writeFileSync } from "node:fs";
import { UsageError } from "./attachment.ts";

type Page = {
  readonly csv?: string | undefined;
  readonly rows?: number | undefined;
  readonly nextPageToken?: string | undefined;
};

/** Loads every page into a new file, and prints progress. Returns the number of rows. */
export async function exportPages(
  file: string,
  loadPage: (pageToken: string) => Promise<Page>,
): Promise<{ rows: number }> {
  if (existsSync(file)) throw new UsageError(`${file} exists already: name another file.`);
  let count = 0;
  for (let pageToken = ""; ; ) {
    const page = await loadPage(pageToken);
    writeFileSync(file, page.csv ?? "", { flag: pageToken === "" ? "wx" : "a" });
    count += page.rows ?? 0;
    pageToken = page.nextPageToken ?? "";
    if (pageToken === "") return { rows: count };
    console.error(`${count} so far …`);
  }
}
