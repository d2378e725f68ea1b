/** What every benchmark's command reads and says alike. */
import { InvalidArgumentError } from "commander";

/** An option's number above 0. */
export function positive(text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a number above 0.");
}

/** Says what a benchmark is at, with the seconds since now. */
export function stepTeller(): (step: string) => void {
  const startedAt = performance.now();
  return (step) => {
    const passed = ((performance.now() - startedAt) / 1_000).toFixed(0);
    console.error(`${passed.padStart(4)} s  ${step}`);
  };
}
