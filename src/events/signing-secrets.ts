/** Signing secrets of endpoints: their plain form, their sealed form in rows, and its change to another key. */

import type { Database, Statement } from "../platform/database.ts";
import type { EndpointId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import { type KeyRing, Secret, seal, unseal } from "../platform/secrets.ts";

/** The dependencies of sealing a signing secret: the keys, and the environment to which it is bound. */
export type SealingContext = { readonly sealing: KeyRing; readonly environmentName: string };

/** The columns of an endpoint's row that hold its secrets. */
export type SealedSecrets = { readonly secretSealed: string; readonly previousSealed: string | null };

// The length of the HMAC's output: more bytes would not make it stronger.
const secretBytes = 32;

/** Generates a signing secret. `prefix` ends in `whsec_`, such as `switchyard_test_whsec_`. */
export function generateSigningSecret(runtime: Pick<Runtime, "randomBytes">, prefix: string): Secret {
  return new Secret(prefix + Buffer.from(runtime.randomBytes(secretBytes)).toString("base64"));
}

export function sealSigningSecret(context: SealingContext, endpointId: EndpointId, secret: Secret): string {
  return seal(context.sealing, associatedDataOf(context, endpointId), secret.expose());
}

/** Opens the secrets that sign for an endpoint, newest first. `previousSealed` is null outside an overlap. */
export function openSigningSecrets(context: SealingContext, endpointId: EndpointId, row: SealedSecrets): Secret[] {
  return [row.secretSealed, row.previousSealed]
    .filter((sealed) => sealed !== null)
    .map((sealed) => unseal(context.sealing, associatedDataOf(context, endpointId), sealed));
}

export function associatedDataOf(context: Pick<SealingContext, "environmentName">, endpointId: EndpointId): string {
  return `endpoint/${endpointId}/${context.environmentName}`;
}

// Few enough that locked rows are released soon.
const rowsAtOnce = 100;

const lockSealedBefore: Statement = {
  name: "lock_endpoints_sealed_before",
  text: `SELECT id, secret_sealed AS "secretSealed", previous_sealed AS "previousSealed" FROM endpoint
         WHERE split_part(secret_sealed, '.', 1) <> $1 OR split_part(previous_sealed, '.', 1) <> $1
         ORDER BY id LIMIT ${rowsAtOnce} FOR UPDATE`,
};
const replaceSealed: Statement = {
  name: "reseal_endpoint",
  text: "UPDATE endpoint SET secret_sealed = $2, previous_sealed = $3 WHERE id = $1",
};

/**
 * Reseals all endpoints' secrets with the ring's current key; afterwards no other key seals any. Returns the number of
 * endpoints.
 */
export async function resealSigningSecrets(database: Database, context: SealingContext): Promise<number> {
  const { sealing } = context;
  for (let resealed = 0; ; ) {
    const count = await database.transaction(async (tx) => {
      const rows = await tx.query<SealedSecrets & { id: EndpointId }>(lockSealedBefore, [sealing.current]);
      for (const { id, secretSealed, previousSealed } of rows) {
        const associatedData = associatedDataOf(context, id);
        const anew = (sealed: string) =>
          seal(sealing, associatedData, unseal(sealing, associatedData, sealed).expose());
        await tx.query(replaceSealed, [id, anew(secretSealed), previousSealed === null ? null : anew(previousSealed)]);
      }
      return rows.length;
    });
    if (count === 0) return resealed;
    resealed += count;
  }
}
