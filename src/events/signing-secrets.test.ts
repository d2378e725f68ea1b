import { describe, expect, it } from "vitest";
import { systemRuntime } from "../platform/runtime.ts";
import { generateSigningSecret, openSigningSecrets, sealSigningSecret } from "./signing-secrets.ts";

const prefix = "switchyard_test_whsec_";
const sealing = { current: "k1", keys: { k1: new Uint8Array(32).fill(7) } };
const endpointId = "019a0000-0000-7000-8000-000000000001";
const context = { runtime: systemRuntime, sealing, environmentName: "test" };

describe("generateSigningSecret()", () => {
  it("returns the prefix and 32 bytes in standard base64", () => {
    expect(generateSigningSecret(systemRuntime, prefix).expose()).toMatch(/^switchyard_test_whsec_[A-Za-z0-9+/]{43}=$/);
  });
});

describe("openSigningSecrets()", () => {
  it("opens the secret and, during an overlap, the previous one", () => {
    const [fresh, previous] = ["fresh", "previous"].map(() => generateSigningSecret(systemRuntime, prefix));
    const row = {
      secretSealed: sealSigningSecret(context, endpointId, fresh!),
      previousSealed: sealSigningSecret(context, endpointId, previous!),
    };
    const opened = openSigningSecrets(context, endpointId, row).map((secret) => secret.expose());
    expect(opened).toEqual([fresh!.expose(), previous!.expose()]);
    expect(openSigningSecrets(context, endpointId, { ...row, previousSealed: null })).toHaveLength(1);
  });

  it("opens no secret that was moved to another endpoint or environment", () => {
    const secret = generateSigningSecret(systemRuntime, prefix);
    const row = { secretSealed: sealSigningSecret(context, endpointId, secret), previousSealed: null };
    expect(() => openSigningSecrets(context, endpointId.replace("1", "2"), row)).toThrow();
    expect(() => openSigningSecrets({ ...context, environmentName: "live" }, endpointId, row)).toThrow();
  });
});
