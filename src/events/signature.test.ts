import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { systemEntropy } from "../platform/entropy.ts";
import type { Secret } from "../platform/secrets.ts";
import { signWebhook } from "./signature.ts";
import { generateSigningSecret } from "./signing-secrets.ts";

const body = Buffer.from('{"id":"evt_1","note":"Zoë 支払い"}');
const prefix = "switchyard_test_whsec_";

/** As the webhook guide tells merchants: the package knows no brand, so what stands before `whsec_` is cut off. */
function verifierOf(secret: Secret): Webhook {
  const text = secret.expose();
  return new Webhook(text.slice(text.indexOf("whsec_")));
}

function sign(secrets: readonly Secret[]) {
  return signWebhook({ id: "evt_1", sentAt: new Date(), body, secrets });
}

describe("signWebhook()", () => {
  it("is accepted by the stock verifier", () => {
    const secret = generateSigningSecret(systemEntropy, prefix);
    expect(verifierOf(secret).verify(body, sign([secret]))).toEqual(JSON.parse(body.toString()));
  });

  it("is refused when a byte, the id or the time was changed, and by another secret", () => {
    const secret = generateSigningSecret(systemEntropy, prefix);
    const headers = sign([secret]);
    const later = String(Number(headers["webhook-timestamp"]) + 1);
    const verifier = verifierOf(secret);
    expect(() => verifier.verify(Buffer.from(body.toString().replace("1", "2")), headers)).toThrow("signature");
    expect(() => verifier.verify(body, { ...headers, "webhook-id": "evt_2" })).toThrow("signature");
    expect(() => verifier.verify(body, { ...headers, "webhook-timestamp": later })).toThrow("signature");
    expect(() => verifierOf(generateSigningSecret(systemEntropy, prefix)).verify(body, headers)).toThrow("signature");
  });

  it("is accepted with either secret while a rotation overlaps", () => {
    const [fresh, previous] = [
      generateSigningSecret(systemEntropy, prefix),
      generateSigningSecret(systemEntropy, prefix),
    ];
    const headers = sign([fresh, previous]);
    expect(verifierOf(fresh).verify(body, headers)).toBeDefined();
    expect(verifierOf(previous).verify(body, headers)).toBeDefined();
  });
});
