/** Reads the sandbox accounts of the contract tests from variables. Accepts only test credentials. */
import { findCredentialProblems } from "../../gateways/check-credentials.ts";
import type { CredentialField, Credentials } from "../../gateways/connector.ts";
import type { EmulatorOrigins } from "../../gateways/gateway-origins.ts";
import { Secret } from "../../platform/secrets.ts";

export type ContractSetting =
  | { readonly type: "account"; readonly origin: string; readonly credentials: Credentials }
  | { readonly type: "none"; readonly reason: string };

export type Wanted = {
  readonly gateway: keyof EmulatorOrigins;
  readonly fields: readonly CredentialField[];
  readonly origin: string;
  /** Values of fields that no contract test needs, used if no variable has them. */
  readonly spare?: Readonly<Record<string, string>>;
};

const prefix = "SWITCHYARD_CONTRACT";
const loopback = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\]):\d{1,5}$/;

/** Returns the variable of a credential, such as SWITCHYARD_CONTRACT_STRIPE_SECRET_KEY. */
function variableOf(gateway: keyof EmulatorOrigins, field: string): string {
  return `${prefix}_${gateway}_${field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/**
 * Returns the account that the variables name; none if they name nothing of it. Throws, repeating no value, for a part
 * of an account, for credentials that are not in the format of test credentials, and for an origin that is not this
 * machine's.
 */
export function readContractSetting(
  { gateway, fields, origin, spare = {} }: Wanted,
  variables: Readonly<Record<string, string | undefined>>,
): ContractSetting {
  const given = (name: string) => variables[variableOf(gateway, name)] || undefined;
  const needed = fields.flatMap(({ name, isOptional }) => (isOptional || spare[name] !== undefined ? [] : [name]));
  if (needed.every((name) => given(name) === undefined)) {
    return { type: "none", reason: `set ${needed.map((name) => variableOf(gateway, name)).join(", ")}` };
  }
  const entered = Object.fromEntries(
    fields.flatMap(({ name }) => {
      const value = given(name) ?? spare[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const [problem] = findCredentialProblems(fields, entered);
  if (problem) {
    const name = problem.param.slice("credentials.".length);
    throw new Error(`${variableOf(gateway, name)} is missing or is not a test credential. ${problem.detail}`);
  }
  const emulator = given("origin");
  if (emulator !== undefined && !loopback.test(emulator)) {
    throw new Error(`${variableOf(gateway, "origin")} may only name an emulator on this machine.`);
  }
  const credentials = Object.entries(entered).map(([name, value]) => [name, new Secret(value)]);
  return { type: "account", origin: emulator ?? origin, credentials: Object.fromEntries(credentials) };
}
