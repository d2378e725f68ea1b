/** Options and messages that the commands of all benchmarks share. */
import { InvalidArgumentError } from "commander";

/** Parses an option's number above 0. */
export function positive(text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a number above 0.");
}

/** Parses an option's number of 0 or more. */
export function notNegative(text: string): number {
  const number = Number(text);
  if (text.trim() !== "" && Number.isFinite(number) && number >= 0) return number;
  throw new InvalidArgumentError("It must be 0 or a number above it.");
}

/** Returns a function that prints the current step, with the seconds since now. */
export function createStepReporter(): (step: string) => void {
  const startedAt = performance.now();
  return (step) => {
    const passed = ((performance.now() - startedAt) / 1_000).toFixed(0);
    console.error(`${passed.padStart(4)} s  ${step}`);
  };
}
