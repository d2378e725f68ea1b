/** Gives an endpoint a new signing secret, at once or with an overlap. */
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { Secret } from "../platform/secrets.ts";
import { type EndpointChange, writeEndpoint } from "./change-endpoint.ts";
import { type EndpointContext, type EndpointKey, lockEndpoint } from "./endpoints.ts";
import { generateSigningSecret, sealSigningSecret } from "./signing-secrets.ts";

// A day is enough to deploy a new secret to every machine; a longer overlap would be a second secret, not a rotation.
const overlapHoursMax = 24;
const replaceSecret = writeEndpoint(
  "replace_signing_secret",
  `secret_sealed = $2, previous_sealed = CASE WHEN $3 > 0 THEN secret_sealed END,
   previous_until = CASE WHEN $3 > 0 THEN app.clock() + $3 * interval '1 hour' END`,
);

/**
 * Gives an endpoint a new secret. The old one stops at once, or signs besides it during an overlap of 1–24 hours.
 * Throws `state_conflict` for an overlap inside another one, which would stop a secret that machines may still use.
 */
export async function rotateSecret(
  tx: Tx,
  context: Omit<EndpointContext, "database">,
  key: EndpointKey,
  options: { overlapHours?: number | undefined; version?: number | undefined } = {},
): Promise<EndpointChange & { signingSecret: Secret }> {
  const overlapHours = options.overlapHours ?? 0;
  if (!Number.isInteger(overlapHours) || overlapHours < 0 || overlapHours > overlapHoursMax) {
    throw new DomainError("invalid_field", `The overlap is 0 to ${overlapHoursMax} hours.`, { field: "overlapHours" });
  }
  const before = await lockEndpoint(tx, key, options.version);
  if (overlapHours > 0 && before.overlapUntil !== null) {
    throw new DomainError(
      "state_conflict",
      `An overlap runs until ${before.overlapUntil.toISOString()}: rotate after it or, if a secret leaked, without one.`,
    );
  }
  const signingSecret = generateSigningSecret(context.runtime, context.signingSecretPrefix);
  const sealed = sealSigningSecret(context, before.id, signingSecret);
  return { before, after: await replaceSecret(tx, before.id, [sealed, overlapHours]), signingSecret };
}
