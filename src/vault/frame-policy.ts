/** Who may embed the card frame: turns a signed policy into the headers of the frame document. */
import { type FramePolicy, type VerificationKey, verifyFramePolicy } from "../platform/service-token.ts";

/** Origins that may embed and talk to the frame; `*` alone for any, none for nobody. */
export type Embedders = readonly string[];

/**
 * The embedders that the policy in a frame address names; nobody when it is missing, forged or over.
 * In test a policy without origins stands for any page, in live for none.
 */
export async function loadEmbedders(keys: readonly VerificationKey[], policy: string | undefined): Promise<Embedders> {
  const verified = policy === undefined ? undefined : await verifyFramePolicy(keys, policy);
  return verified === undefined ? [] : embeddersOf(verified);
}

function embeddersOf({ environment, origins }: FramePolicy): Embedders {
  return origins.length === 0 && environment === "test" ? ["*"] : origins;
}

/** The frame's Content-Security-Policy: its own style, files of the vault's origin, and no way to write HTML. */
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
