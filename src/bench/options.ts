/** What every benchmark's command reads and says alike. */
import { InvalidArgumentError } from "commander";

/** An option's number above 0. */
export function positive(text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a number above 0.");
}
