/**
 * Work that an acquirer owes after its answer, such as the result of a capture that it has received, or a notification.
 * A start resumes the work that a stop has interrupted.
 */
import type { Book, Books } from "./books.ts";

type Task = { readonly name: string; readonly content: unknown };

// Far more than are ever under way; beyond it the oldest are forgotten.
const tasksMax = 100_000;

export class Tasks {
  readonly #tasks: Book<Task>;
  readonly #acts = new Map<string, (content: never) => Promise<void>>();
  #last: number;

  constructor(books: Books) {
    this.#tasks = books.open("task", tasksMax);
    this.#last = Math.max(0, ...this.#tasks.entries().map(([key]) => Number(key)));
  }

  /** Returns a function that does such work, of which the content is all that a later start knows. */
  define<Content>(name: string, act: (content: Content) => Promise<void>): (content: Content) => Promise<void> {
    this.#acts.set(name, act as (content: never) => Promise<void>);
    return (content) => {
      const key = String(++this.#last);
      this.#tasks.set(key, { name, content });
      return act(content).finally(() => this.#tasks.delete(key));
    };
  }

  /** Resumes the work that a stop has interrupted; called once every kind of work is defined. */
  resume(): void {
    for (const [key, { name, content }] of this.#tasks.entries()) {
      void this.#acts
        .get(name)?.(content as never)
        .finally(() => this.#tasks.delete(key));
    }
  }
}
