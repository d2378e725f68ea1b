import { describe, expect, it } from "vitest";
import { findUnknownVariables } from "./unknown-variables.ts";

const meantBy = (variable: string, value = "x") => findUnknownVariables({ [variable]: value });

describe("findUnknownVariables()", () => {
  it.each([
    ["SWITCHYARD_PUBIC_PORT", ["SWITCHYARD_PUBLIC_PORT"]],
    ["SWITCHYARD_LIVE_DATABSAE_URL", ["SWITCHYARD_LIVE_DATABASE_URL"]],
    ["SWITCHYARD_API_ORIGINS", ["SWITCHYARD_API_ORIGIN"]],
    ["SWITCHYARD_VAULT_KEYS_FILE", ["SWITCHYARD_TEST_VAULT_KEYS_FILE", "SWITCHYARD_LIVE_VAULT_KEYS_FILE"]],
    ["SWITCHYARD_LIVE_NATS_PASWORD_FILE", ["SWITCHYARD_LIVE_NATS_PASSWORD_FILE"]],
    ["SWITCHYARD_WEATHER", []],
  ])("recognizes the setting meant by %s", (variable, meant) => {
    expect(meantBy(variable)).toEqual([{ variable, meant }]);
  });

  it.each([
    ["SWITCHYARD_SANDBOX_PORT", "8085"],
    ["SWITCHYARD_LIVE_NATS_PASSWORD_FILE", "/run/secrets/nats"],
    ["SWITCHYARD_CONTRACT_STRIPE_SECRET_KEY", "sk_test_1"],
    // Variables that Kubernetes sets for Services named switchyard-edge and switchyard.
    ["SWITCHYARD_EDGE_SERVICE_HOST", "10.0.0.1"],
    ["SWITCHYARD_EDGE_PORT", "tcp://10.0.0.1:8080"],
    ["SWITCHYARD_PORT_8080_TCP_ADDR", "10.0.0.1"],
    ["PATH", "/bin"],
  ])("ignores %s", (variable, value) => {
    expect(meantBy(variable, value)).toEqual([]);
  });
});
