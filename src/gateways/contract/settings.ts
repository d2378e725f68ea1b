/** Which sandbox accounts the contract tests may use, as variables name them. Takes test credentials alone. */
import { Secret } from "../../platform/secrets.ts";
import { findCredentialProblems } from "../check-credentials.ts";
import type { CredentialField, Credentials } from "../connector.ts";
import type { RealGateway } from "../gateway-origins.ts";

/** A sandbox account, or why there is none. */
export type ContractSetting =
  | { readonly type: "account"; readonly origin: string; readonly credentials: Credentials }
  | { readonly type: "none"; readonly because: string };

/** What is asked for at a gateway, and where its sandbox is. */
export type Wanted = {
  readonly gateway: RealGateway;
  readonly fields: readonly CredentialField[];
  readonly origin: string;
  /** Values of fields that no contract test needs, where no variable gives them. */
  readonly spare?: Readonly<Record<string, string>>;
};

const prefix = "SWITCHYARD_CONTRACT";
const loopback = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\]):\d{1,5}$/;

/** The variable of a credential, such as SWITCHYARD_CONTRACT_STRIPE_SECRET_KEY. */
export function variableOf(gateway: RealGateway, field: string): string {
  return `${prefix}_${gateway}_${field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/**
 * The account that the variables name; none where they name nothing of it. Throws, repeating no value, for a part of an
 * account, for credentials that are not shaped as test credentials, and for an origin that is not this machine's.
 */
export function readContractSetting(
  { gateway, fields, origin, spare = {} }: Wanted,
  variables: Readonly<Record<string, string | undefined>>,
): ContractSetting {
  const given = (name: string) => variables[variableOf(gateway, name)] || undefined;
  const needed = fields.map(({ name }) => name).filter((name) => spare[name] === undefined);
  if (needed.every((name) => given(name) === undefined)) {
    return { type: "none", because: `set ${needed.map((name) => variableOf(gateway, name)).join(", ")}` };
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
    throw new Error(`${variableOf(gateway, name)} is missing or holds no test credential. ${problem.detail}`);
  }
  const standIn = given("origin");
  if (standIn !== undefined && !loopback.test(standIn)) {
    throw new Error(`${variableOf(gateway, "origin")} may only name a stand-in on this machine.`);
  }
  const credentials = Object.entries(entered).map(([name, value]) => [name, new Secret(value)]);
  return { type: "account", origin: standIn ?? origin, credentials: Object.fromEntries(credentials) };
}
