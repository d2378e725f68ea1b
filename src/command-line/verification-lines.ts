/** Reports the result of a call that verifies credentials at a gateway, line by line. */

type CheckView = {
  readonly check?: string;
  readonly passed?: boolean;
  readonly required?: boolean;
  readonly detail?: string;
};

type Answer = { readonly verified?: boolean; readonly inUse?: boolean; readonly checks?: readonly CheckView[] };

/** Reports each check, and whether the credentials are now in use. */
export function verificationLines({ checks = [], verified, inUse }: Answer): string[] {
  return [...checks.map(checkLine), verificationEnd({ checks, verified: verified === true, inUse: inUse === true })];
}

/** Reports each check, and whether the new credentials replaced the old ones. */
export function rotationLines({ checks = [], verified }: Answer): string[] {
  return [...checks.map(checkLine), rotationEnd({ checks, verified: verified === true })];
}

function verificationEnd({ checks, verified, inUse }: Required<Answer>): string {
  if (verified) return "Verified: payments can be routed to it.";
  if (inUse) return "A check failed; the credentials stay in use. To stop using the connection, pause it.";
  if (isFit(checks)) return "These credentials are not in use: newer credentials are in use already.";
  return "Not verified: its credentials are not in use.";
}

function rotationEnd({ checks, verified }: Required<Omit<Answer, "inUse">>): string {
  if (verified) {
    return "In use from now on. Payments in progress finish with the old credentials, so wait a day before you revoke those at the gateway.";
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
