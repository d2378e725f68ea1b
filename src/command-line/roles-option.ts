import { InvalidArgumentError } from "commander";
import type { Role } from "../config/checked-config.ts";

export const roles: readonly Role[] = ["edge", "worker", "dashboard", "vault", "sandbox"];

export function parseRoles(text: string): readonly Role[] {
  const named = text.split(",");
  const unknown = named.filter((role) => !roles.some((known) => known === role));
  if (unknown.length > 0) throw new InvalidArgumentError(`Unknown role: ${unknown.join(", ")}.`);
  return roles.filter((role) => named.includes(role));
}
