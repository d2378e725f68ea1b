/** Prints the start of the demo: a line for each step with its duration, then the addresses. */
import type { DemoFile } from "./demo-file.ts";

// The first cards for a newcomer: one card for each kind of ending.
const firstCards = [
  "4242424242424242",
  "4000000000000002",
  "4000000000002040",
  "4000000000009995",
  "4100000000000019",
  "4000000000003220",
  "4000000000005035",
];

/** Prints the progress of the start; prints nothing if `quiet`. */
export class Progress {
  readonly #quiet: boolean;

  constructor(quiet: boolean) {
    this.#quiet = quiet;
  }

  /** Prints a step before it begins, and its duration at the end. */
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

  say(sentence: string): void {
    if (!this.#quiet) console.log(`  ${sentence}`);
  }

  /** Runs a step that reports its progress, and prints its results at the end. */
  async count(
    what: string,
    work: (onDone: (done: number, all: number) => void) => Promise<Readonly<Record<string, number>>>,
  ): Promise<void> {
    const say = (text: string) => this.#quiet || process.stdout.write(text);
    // A terminal's line is overwritten; other outputs get a line for each tenth.
    const ends = await work((done, all) => {
      if (process.stdout.isTTY) say(`\r  ${what} … ${done} of ${all}`);
      else if (done % Math.ceil(all / 10) === 0) say(`  ${what} … ${done} of ${all}\n`);
    });
    const counts = Object.entries(ends).map(([name, count]) => `${count} ${name}`);
    say(`${process.stdout.isTTY ? "\r" : ""}  ${what} … ${counts.join(", ")}\n`);
  }

  /** Prints the addresses, test cards to try, and what a stop does with the data. */
  summary(file: DemoFile, path: string, isTemporary = false): void {
    if (this.#quiet) return;
    const shown = file.testCards.filter(({ number }) => firstCards.includes(number));
    const width = Math.max(...shown.map((card) => card.name.length));
    const cards = shown.map((card) => `    ${card.number.padEnd(16)}  ${card.name.padEnd(width)}  ${card.behaviour}`);
    console.log(`
Switchyard is running. Pay in the demo shop:

    ${file.shopUrl}

  Test cards (any expiry in the future, any security code):
${cards.join("\n")}
    The checkout page has ${file.testCards.length - shown.length} more: 3-D Secure, lost, late or wrong answers, refunds, and holds that end.

  Dashboard   ${file.dashboardOrigin}
              ${file.member.email}  ${file.member.password}

  REST        ${file.restBase}
  Docs        ${file.connectOrigin}/docs
  gRPC        ${file.grpcAddress}
  Vault       ${file.vaultOrigin}
  Secret key  ${file.merchants[0]?.test.secretKey}
  All keys    ${path}

Ctrl-C stops everything; the data is ${isTemporary ? "removed" : "kept"}.`);
  }
}
