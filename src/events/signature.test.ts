import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { systemRuntime } from "../platform/runtime.ts";
import type { Secret } from "../platform/secrets.ts";
import { signWebhook } from "./signature.ts";
import { generateSigningSecret } from "./signing-secrets.ts";

const body = Buffer.from('{"id":"evt_1","note":"Zoë 支払い"}');
const prefix = "switchyard_test_whsec_";

/** Creates a verifier as the webhook guide describes: the text before `whsec_` is cut off. */
function verifierOf(secret: Secret): Webhook {
  const text = secret.expose();
  return new Webhook(text.slice(text.indexOf("whsec_")));
}

function sign(secrets: readonly Secret[]) {
  return signWebhook({ id: "evt_1", sentAt: new Date(), body, secrets });
}

describe("signWebhook()", () => {
  it("produces headers that the stock verifier accepts", () => {
    const secret = generateSigningSecret(systemRuntime, prefix);
    expect(verifierOf(secret).verify(body, sign([secret]))).toEqual(JSON.parse(body.toString()));
  });

  it("produces headers that fail with a changed byte, id or time, or another secret", () => {
    const secret = generateSigningSecret(systemRuntime, prefix);
    const headers = sign([secret]);
    const later = String(Number(headers["webhook-timestamp"]) + 1);
    const verifier = verifierOf(secret);
    expect(() => verifier.verify(Buffer.from(body.toString().replace("1", "2")), headers)).toThrow("signature");
    expect(() => verifier.verify(body, { ...headers, "webhook-id": "evt_2" })).toThrow("signature");
    expect(() => verifier.verify(body, { ...headers, "webhook-timestamp": later })).toThrow("signature");
    expect(() => verifierOf(generateSigningSecret(systemRuntime, prefix)).verify(body, headers)).toThrow("signature");
  });

  it("produces headers that either secret verifies while a rotation overlaps", () => {
    const [fresh, previous] = [
      generateSigningSecret(systemRuntime, prefix),
      generateSigningSecret(systemRuntime, prefix),
    ];
    const headers = sign([fresh, previous]);
    expect(verifierOf(fresh).verify(body, headers)).toBeDefined();
    expect(verifierOf(previous).verify(body, headers)).toBeDefined();
  });
});
