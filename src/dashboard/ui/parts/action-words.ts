/** The action of an audit trail entry, in words. */

const words: Readonly<Record<string, string>> = {
  OfferTotp: "Begin to add an authenticator app",
  ConfirmTotp: "Add authenticator app",
  RemoveTotp: "Remove authenticator app",
  SignInByCompany: "Sign in with company account",
  SignOutByCompany: "Sign out by company",
  ProveByCompany: "Confirm identity with company account",
  SetRolesByCompany: "Set roles by company",
  RemoveIdentity: "Unlink company account",
};

/** Returns `Regenerate API key` for `RegenerateApiKey`. */
export function inWords(action: string): string {
  return (
    words[action] ??
    action.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/\bapi\b/, "API")
  );
}
