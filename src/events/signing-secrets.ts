/** Signing secrets of endpoints: their plain form and their sealed form in rows. */
import type { Runtime } from "../platform/runtime.ts";
import { type KeyRing, Secret, seal, unseal } from "../platform/secrets.ts";

/** The dependencies of sealing a signing secret: the keys, and the environment to which it is bound. */
export type SealingContext = { readonly sealing: KeyRing; readonly environmentName: string };

// As long as the HMAC's output: more bytes would not make it stronger.
const secretBytes = 32;

/**
 * Generates a signing secret. `prefix` names brand and environment and ends in `whsec_`, such as
 * `switchyard_test_whsec_`.
 */
export function generateSigningSecret(runtime: Pick<Runtime, "randomBytes">, prefix: string): Secret {
  return new Secret(prefix + Buffer.from(runtime.randomBytes(secretBytes)).toString("base64"));
}

/** Seals a secret for either column of its endpoint's row. */
export function sealSigningSecret(context: SealingContext, endpointId: string, secret: Secret): string {
  return seal(context.sealing, associatedDataOf(context, endpointId), secret.expose());
}

/**
 * Opens the secrets that currently sign for an endpoint, newest first. `previous_sealed` is null outside an overlap.
 */
export function openSigningSecrets(
  context: SealingContext,
  endpointId: string,
  row: { readonly secret_sealed: string; readonly previous_sealed: string | null },
): Secret[] {
  return [row.secret_sealed, row.previous_sealed]
    .filter((sealed) => sealed !== null)
    .map((sealed) => unseal(context.sealing, associatedDataOf(context, endpointId), sealed));
}

/** Returns the associated data of a sealed signing secret. */
export function associatedDataOf(context: Pick<SealingContext, "environmentName">, endpointId: string): string {
  return `endpoint/${endpointId}/${context.environmentName}`;
}
