/** A routing rule as commands take it. */
import { UsageError } from "./attachment.ts";

const switches = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;

/** Every kind of failure after which another gateway may be asked. */
export const allSwitches = switches.join(",");

/** The kinds that a person named. Throws UsageError for one that does not exist. */
export function parseSwitches(text: string): (typeof switches)[number][] {
  const asked = text === "none" ? [] : text.split(",");
  const unknown = asked.filter((name) => !switches.some((known) => known === name));
  if (unknown.length > 0) throw new UsageError(`Unknown failure kind: ${unknown.join(", ")}.`);
  return switches.filter((name) => asked.includes(name));
}
