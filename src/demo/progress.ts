/** What a person sees while the demo starts: a line for each step with its time, then where everything is. */
import { groupTitles } from "../gateways/sandbox/card-words.ts";
import type { DemoFile } from "./demo-file.ts";

/** Tells a person how far the start is; says nothing where nobody looks. */
export class Progress {
  readonly #quiet: boolean;

  constructor(quiet: boolean) {
    this.#quiet = quiet;
  }

  /** Announces a step before it begins, and says how long it took. */
  async step<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    const begun = performance.now();
    if (!this.#quiet) process.stdout.write(`  ${what} … `);
    let ending = "failed";
    try {
      const result = await work();
      ending = `${((performance.now() - begun) / 1000).toFixed(1)} s`;
      return result;
    } finally {
      if (!this.#quiet) process.stdout.write(`${ending}\n`);
    }
  }

  /** Something that a person should know of the start. */
  say(sentence: string): void {
    if (!this.#quiet) console.log(`  ${sentence}`);
  }

  /** A step that says how far it is, and at its end what became of it. */
  async count(
    what: string,
    work: (onDone: (done: number, all: number) => void) => Promise<Readonly<Record<string, number>>>,
  ): Promise<void> {
    const say = (text: string) => this.#quiet || process.stdout.write(text);
    // A terminal has its line written anew; anything else gets a line for each tenth.
    const ends = await work((done, all) => {
      if (process.stdout.isTTY) say(`\r  ${what} … ${done} of ${all}`);
      else if (done % Math.ceil(all / 10) === 0) say(`  ${what} … ${done} of ${all}\n`);
    });
    const told = Object.entries(ends).map(([name, count]) => `${count} ${name}`);
    say(`${process.stdout.isTTY ? "\r" : ""}  ${what} … ${told.join(", ")}\n`);
  }

  /** Where everything is, and what to try. */
  summary(file: DemoFile, path: string): void {
    if (this.#quiet) return;
    const shown = file.testCards.filter((card) => card.group !== groupTitles.nasty);
    const width = Math.max(...shown.map((card) => card.name.length));
    const cards = shown.map((card) => `    ${card.number.padEnd(16)}  ${card.name.padEnd(width)}  ${card.behaviour}`);
    console.log(`
Switchyard is running. Pay in the demo shop:

    ${file.shopUrl}

  Test cards (any expiry in the future, any security code):
${cards.join("\n")}
    The checkout page has ${file.testCards.length - shown.length} more: answers that are lost, late or wrong, captures that fail.

  Dashboard   ${file.dashboardOrigin}
              ${file.member.email}  ${file.member.password}

  REST        ${file.restBase}
  Reference   ${file.connectOrigin}/docs
  gRPC        ${file.grpcAddress}
  Vault       ${file.vaultOrigin}
  Secret key  ${file.merchants[0]?.test.secretKey}
  All keys    ${path}

Ctrl-C stops everything; the data is kept.`);
  }
}
