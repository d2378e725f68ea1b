/** Asks the browser for a passkey. What it takes is loaded with the first question. */

/** Why there is no passkey, in a sentence for the person at the page. */
export class PasskeyFailure extends Error {
  override readonly name = "PasskeyFailure";
}

const library = () => import("@simplewebauthn/browser");

/** A new passkey by the service's options, as the service reads it. */
export async function createPasskey(options: string): Promise<string> {
  const { startRegistration } = await library();
  return asked(() => startRegistration({ optionsJSON: JSON.parse(options) }));
}

/** A passkey's answer to the service's options, as the service reads it. */
export async function answerByPasskey(options: string): Promise<string> {
  const { startAuthentication } = await library();
  return asked(() => startAuthentication({ optionsJSON: JSON.parse(options) }));
}

async function asked(question: () => Promise<object>): Promise<string> {
  try {
    return JSON.stringify(await question());
  } catch (error) {
    throw new PasskeyFailure(sentenceFor(error));
  }
}

// https://www.w3.org/TR/webauthn-3/#sctn-createCredential: browsers do not tell a refusal from a lapse of time.
function sentenceFor(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { name?: string } };
  const names = [name, cause?.name];
  if (names.includes("InvalidStateError")) return "This device has a passkey for the account already.";
  if (names.includes("NotSupportedError") || names.includes("ConstraintError")) {
    return "This device can make no passkey that asks for PIN, finger or face.";
  }
  return "No passkey was given. Try again, or go on with your password.";
}
