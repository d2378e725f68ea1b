/** Requests a passkey from the browser. The code for it is loaded at the first request. */

/** The reason why there is no passkey, in a sentence for the person at the page. */
export class PasskeyFailure extends Error {
  override readonly name = "PasskeyFailure";
}

const library = () => import("@simplewebauthn/browser");

export async function createPasskey(options: string): Promise<string> {
  const { startRegistration } = await library();
  return answerOf(() => startRegistration({ optionsJSON: JSON.parse(options) }));
}

export async function answerByPasskey(options: string): Promise<string> {
  const { startAuthentication } = await library();
  return answerOf(() => startAuthentication({ optionsJSON: JSON.parse(options) }));
}

async function answerOf(question: () => Promise<object>): Promise<string> {
  try {
    return JSON.stringify(await question());
  } catch (error) {
    throw new PasskeyFailure(sentenceFor(error));
  }
}

// https://www.w3.org/TR/webauthn-3/#sctn-createCredential: browsers report a refusal and a timeout alike.
function sentenceFor(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { name?: string } };
  const names = [name, cause?.name];
  if (names.includes("InvalidStateError")) return "This device already has a passkey for the account.";
  if (names.includes("NotSupportedError") || names.includes("ConstraintError")) {
    return "This device cannot create a passkey with a PIN, fingerprint or face.";
  }
  return "No passkey was provided. Try again, or continue with your password.";
}
