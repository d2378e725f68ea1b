import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { Books } from "./books.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-books-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Opens the book of a file, and returns what a start found in it. */
function openBook(path: string) {
  const books = new Books(path, () => true);
  const book = books.open<unknown>("payments", 10);
  return { books, book, found: book.entries() };
}

describe("a file of records", () => {
  it("is read by the next start, unless its records are of another version", () => {
    const path = join(folder, "versions.sqlite");
    const first = openBook(path);
    first.book.set("one", { amount: 1 });
    first.books.close();
    const second = openBook(path);
    expect(second.found).toEqual([["one", { amount: 1 }]]);
    second.books.close();
    const database = new DatabaseSync(path);
    database.exec("PRAGMA user_version = 0");
    database.close();
    const third = openBook(path);
    expect(third.found).toEqual([]);
    third.book.set("two", 2);
    third.books.close();
    const fourth = openBook(path);
    expect(fourth.found).toEqual([["two", 2]]);
    fourth.books.close();
  });

  it("has none of a flush that failed, and all of the next one", () => {
    const path = join(folder, "failed.sqlite");
    const { books, book } = openBook(path);
    book.set("one", 1);
    // JSON has no such number.
    book.set("two", 2n);
    expect(() => books.flush()).toThrow(/BigInt/);
    const other = openBook(path);
    expect(other.found).toEqual([]);
    other.books.close();
    book.set("two", 2);
    books.close();
    const next = openBook(path);
    expect(next.found).toEqual([
      ["one", 1],
      ["two", 2],
    ]);
    next.books.close();
  });
});
