/** Turns a signed policy into the headers of the frame document, which decide which pages may embed it. */
import { type FramePolicy, type VerificationKey, verifyFramePolicy } from "../platform/service-token.ts";

/** Origins that may embed the frame and exchange messages with it; `*` alone for any, an empty list for none. */
export type Embedders = readonly string[];

/**
 * Returns the embedders that the policy in a frame address names; none if it is missing, forged or expired. A policy
 * without origins allows any page in test and none in live.
 */
export async function loadEmbedders(keys: readonly VerificationKey[], policy: string | undefined): Promise<Embedders> {
  const verified = policy === undefined ? undefined : await verifyFramePolicy(keys, policy);
  return verified === undefined ? [] : embeddersOf(verified);
}

function embeddersOf({ environment, origins }: FramePolicy): Embedders {
  return origins.length === 0 && environment === "test" ? ["*"] : origins;
}

/**
 * Returns the frame's Content-Security-Policy: its own style, files of the vault's origin, and no way to write HTML.
 */
export function framePolicyHeader(embedders: Embedders, styleSource: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${styleSource}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    `frame-ancestors ${embedders.length === 0 ? "'none'" : embedders.join(" ")}`,
  ].join("; ");
}
