/**
 * The records of the sandbox acquirers: in memory, and in a file if one is given, which the next start reads. A record
 * may refer to those of other books; the file then holds the reference, and a start restores it.
 */
import { closeSync, openSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { passesLuhn } from "../platform/luhn.ts";

type Place = { readonly book: string; readonly key: string };
type File = {
  readonly database: DatabaseSync;
  readonly upsert: StatementSync;
  readonly remove: StatementSync;
};

const reference = "$record";

// The version of the records' form. A change of any record that an earlier one does not fit needs a new version.
const version = 1;

export class Books {
  readonly #isTestCard: (number: string) => boolean;
  readonly #restored = new Map<string, Map<string, unknown>>();
  readonly #places = new WeakMap<object, Place>();
  readonly #books = new Map<string, Book<unknown>>();
  readonly #changed = new Map<string, Place>();
  #file: File | undefined;
  #flushing: NodeJS.Immediate | undefined;

  /** Opens the file, or makes it; records of another version are dropped. Of a card number that is no test card, only its ends are written. */
  constructor(path: string | undefined, isTestCard: (number: string) => boolean) {
    this.#isTestCard = isTestCard;
    if (path === undefined) return;
    closeSync(openSync(path, "a", 0o600));
    const database = new DatabaseSync(path);
    // A killed process loses nothing that it has written. Only a machine that loses power does, with all of the demo.
    const isOther = database.prepare("PRAGMA user_version").get()?.user_version !== version;
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
      ${isOther ? "DROP TABLE IF EXISTS record;" : ""} PRAGMA user_version = ${version};
      CREATE TABLE IF NOT EXISTS record (place INTEGER PRIMARY KEY, book TEXT, key TEXT, content TEXT, UNIQUE (book, key))`);
    this.#read(database);
    this.#file = {
      database,
      upsert: database.prepare(`INSERT INTO record (book, key, content) VALUES (?, ?, ?)
        ON CONFLICT (book, key) DO UPDATE SET content = excluded.content`),
      remove: database.prepare("DELETE FROM record WHERE book = ? AND key = ?"),
    };
  }

  /** Opens a book with the records that a start found in the file. Beyond `max` it drops the oldest. */
  open<Kept>(name: string, max: number): Book<Kept> {
    const records = (this.#restored.get(name) ?? new Map()) as Map<string, Kept>;
    const book = new Book<Kept>(records, max, (key) => this.#change({ book: name, key }, records.get(key)));
    this.#books.set(name, book as Book<unknown>);
    return book;
  }

  /** Writes every change so far in one transaction. */
  flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    if (this.#file === undefined || this.#changed.size === 0) return;
    const { database, upsert, remove } = this.#file;
    database.exec("BEGIN");
    try {
      for (const place of this.#changed.values()) {
        const { book, key } = place;
        const kept = this.#books.get(book)?.get(key);
        if (kept === undefined) remove.run(book, key);
        else upsert.run(book, key, this.#textOf(place, kept));
      }
      database.exec("COMMIT");
    } catch (error) {
      // SQLite has ended the transaction by itself after some errors.
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
    this.#changed.clear();
  }

  /** Writes every change so far, and none from now on. */
  close(): void {
    this.flush();
    this.#file?.database.close();
    this.#file = undefined;
  }

  #change(place: Place, kept: unknown): void {
    if (this.#file === undefined) return;
    if (typeof kept === "object" && kept !== null && !this.#places.has(kept)) this.#places.set(kept, place);
    this.#changed.set(JSON.stringify([place.book, place.key]), place);
    this.#flushing ??= setImmediate(() => this.flush());
  }

  #textOf({ book, key }: Place, kept: unknown): string {
    return JSON.stringify({ kept }, (name, value: unknown) => {
      if (typeof value === "object" && value !== null) {
        const place = this.#places.get(value);
        const isItself = place?.book === book && place.key === key;
        return place === undefined || isItself ? value : { [reference]: [place.book, place.key] };
      }
      const isForeignCard = name === "number" && typeof value === "string" && !this.#isTestCard(value);
      return isForeignCard ? value.replace(/(?<=^\d{6})\d+(?=\d{4}$)/, (middle) => "0".repeat(middle.length)) : value;
    });
  }

  #read(database: DatabaseSync): void {
    for (const { book, key, content } of database
      .prepare("SELECT book, key, content FROM record ORDER BY place")
      .all()) {
      const { kept } = JSON.parse(String(content)) as { kept: unknown };
      const records = this.#restored.get(String(book)) ?? new Map<string, unknown>();
      this.#restored.set(String(book), records.set(String(key), kept));
    }
    for (const [book, records] of this.#restored) {
      for (const [key, kept] of records) {
        const found = this.#resolve(kept);
        if (found === undefined) records.delete(key);
        else records.set(key, found);
        if (found === kept && typeof kept === "object" && kept !== null) this.#places.set(kept, { book, key });
      }
    }
  }

  /** Replaces the references in a value, and returns the value itself, or the record that it refers to. */
  #resolve(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    const fields = value as Record<string, unknown>;
    const referred = fields[reference];
    if (Array.isArray(referred)) return this.#restored.get(String(referred[0]))?.get(String(referred[1]));
    for (const [name, field] of Object.entries(fields)) fields[name] = this.#resolve(field);
    return value;
  }
}

/** Records by their keys, the oldest first. Setting a record again writes its changes. */
export class Book<Kept> {
  readonly #records: Map<string, Kept>;
  readonly #max: number;
  readonly #changed: (key: string) => void;

  constructor(records: Map<string, Kept>, max: number, changed: (key: string) => void) {
    this.#records = records;
    this.#max = max;
    this.#changed = changed;
  }

  get(key: string): Kept | undefined {
    return this.#records.get(key);
  }

  has(key: string): boolean {
    return this.#records.has(key);
  }

  /** Sets a record; without `isWritten` it stays in memory alone. */
  set(key: string, kept: Kept, { isWritten = true } = {}): void {
    this.#records.set(key, kept);
    if (isWritten) this.#changed(key);
    const oldest = this.#records.keys().next().value;
    if (this.#records.size > this.#max && oldest !== undefined) this.delete(oldest);
  }

  delete(key: string): void {
    if (this.#records.delete(key)) this.#changed(key);
  }

  values(): Kept[] {
    return [...this.#records.values()];
  }

  entries(): [string, Kept][] {
    return [...this.#records];
  }
}

/** Reports whether a text mentions a number that could be a real card's. */
export function mentionsCard(text: string, isTestCard: (number: string) => boolean): boolean {
  return (text.match(/(?<!\d)\d{13,19}(?!\d)/g) ?? []).some((number) => passesLuhn(number) && !isTestCard(number));
}
