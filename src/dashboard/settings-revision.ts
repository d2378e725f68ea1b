/** Revisions of settings: a change that is based on an older one is refused, so that none is lost. */
import { DomainError } from "../platform/errors.ts";
import { sha256 } from "../platform/secrets.ts";

/** Returns the revision of settings: equal ones have equal revisions. */
export function revisionOf(settings: readonly unknown[]): string {
  return sha256(JSON.stringify(settings)).toString("base64url");
}

/** Throws `state_conflict` if a change is based on another revision; one that names none is based on any. */
export function requireRevision(named: string | undefined, settings: readonly unknown[]): void {
  if (named === undefined || named === revisionOf(settings)) return;
  throw new DomainError(
    "state_conflict",
    "The settings were changed meanwhile. Review the current values, then save again.",
  );
}
