/** A list in a file, which is read again while the process runs. */
import { readFileSync } from "node:fs";
import { certificateLookEveryMs } from "../limits.ts";

export class WatchedFile<Entry> {
  readonly #path: string;
  readonly #parse: (text: string) => readonly Entry[];
  readonly #onBroken: (error: unknown) => void;
  #text: string;
  #entries: readonly Entry[];

  /**
   * `onBroken` receives the error of a file that is unusable, at every look. The entries stay as they were; without a file
   * there are none. Throws if the first content is unusable.
   */
  constructor(
    path: string,
    { parse, onBroken }: { parse: (text: string) => readonly Entry[]; onBroken: (error: unknown) => void },
  ) {
    this.#path = path;
    this.#parse = parse;
    this.#onBroken = onBroken;
    this.#text = readFileSync(path, "utf8");
    this.#entries = parse(this.#text);
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** Reads the file whenever it may have changed. Returns a function that ends this. */
  renew(lookEveryMs = certificateLookEveryMs): () => void {
    const timer = setInterval(() => this.#look(), lookEveryMs).unref();
    return () => clearInterval(timer);
  }

  #look(): void {
    try {
      const text = readFileSync(this.#path, "utf8");
      if (text !== this.#text) this.#entries = this.#parse(text);
      this.#text = text;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") {
        this.#entries = [];
        this.#text = "";
      }
      this.#onBroken(error);
    }
  }
}
