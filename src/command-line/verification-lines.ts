/** What a live test call at a gateway has come to, line by line. */

/** One check, as the service tells of it. */
export type CheckView = {
  readonly check?: string;
  readonly passed?: boolean;
  readonly required?: boolean;
  readonly detail?: string;
};

type Answer = { readonly verified?: boolean; readonly inUse?: boolean; readonly checks?: readonly CheckView[] };

/** Each check, and whether the credentials that were tried are in use now. */
export function verificationLines({ checks = [], verified, inUse }: Answer): string[] {
  return [...checks.map(checkLine), verificationEnd({ checks, verified: verified === true, inUse: inUse === true })];
}

/** Each check, and whether the new credentials are in the place of the old ones. */
export function rotationLines({ checks = [], verified }: Answer): string[] {
  return [...checks.map(checkLine), rotationEnd({ checks, verified: verified === true })];
}

function verificationEnd({ checks, verified, inUse }: Required<Answer>): string {
  if (verified) return "Verified: it can be routed to.";
  if (inUse) return "A check failed; the credentials stay in use. Pause the connection to leave it out.";
  if (isFit(checks)) return "These credentials are not in use: newer credentials are in use already.";
  return "Not verified: its credentials are not in use.";
}

function rotationEnd({ checks, verified }: Required<Omit<Answer, "inUse">>): string {
  if (verified) {
    return "In use from now on; payments under way end with the old ones, so revoke those at the gateway a day later.";
  }
  if (isFit(checks)) return "Not kept: newer credentials are in use already.";
  return "Not in use and not kept: the old credentials stay as they are.";
}

function isFit(checks: readonly CheckView[]): boolean {
  return checks.every(({ passed, required }) => passed || !required);
}

function checkLine({ check, passed, required, detail }: CheckView): string {
  return `${passed ? "passed" : required ? "FAILED" : "failed, not required"}  ${check}: ${detail}`;
}
