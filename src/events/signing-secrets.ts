/** Signing secrets of endpoints: how they look in clear and how they lie in their rows. */
import type { Entropy } from "../platform/entropy.ts";
import { type KeyRing, Secret, seal, unseal } from "../platform/secrets.ts";

/** What sealing a signing secret needs: the keys, and the environment it is bound to. */
export type SealingContext = { readonly sealing: KeyRing; readonly environmentName: string };

// As long as the HMAC's output: more would not make it stronger.
const secretBytes = 32;

/** A new signing secret. `prefix` names brand and environment and ends in `whsec_`, such as `switchyard_test_whsec_`. */
export function generateSigningSecret(entropy: Pick<Entropy, "randomBytes">, prefix: string): Secret {
  return new Secret(prefix + Buffer.from(entropy.randomBytes(secretBytes)).toString("base64"));
}

/** Seals a secret for its endpoint's row, in whichever of the two columns. */
export function sealSigningSecret(context: SealingContext, endpointId: string, secret: Secret): string {
  return seal(context.sealing, placeOf(context, endpointId), secret.expose());
}

/** The secrets that sign for an endpoint now, newest first. `previous_sealed` is null outside an overlap. */
export function openSigningSecrets(
  context: SealingContext,
  endpointId: string,
  row: { readonly secret_sealed: string; readonly previous_sealed: string | null },
): Secret[] {
  return [row.secret_sealed, row.previous_sealed]
    .filter((sealed) => sealed !== null)
    .map((sealed) => unseal(context.sealing, placeOf(context, endpointId), sealed));
}

/** What a sealed signing secret is bound to. */
export function placeOf(context: Pick<SealingContext, "environmentName">, endpointId: string): string {
  return `endpoint/${endpointId}/${context.environmentName}`;
}
