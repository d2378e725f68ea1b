/** Results of 3-D Secure as the sandbox bank gives them. Knows no acquirer's protocol. */
import type { Frictionless } from "../gateways/sandbox/card-behaviour.ts";
import type { Authorization } from "./ledger.ts";

/** A result with the values that an acquirer reports beside its letter. */
export type SecureResult = {
  readonly transStatus: Frictionless;
  readonly version: string;
  readonly eci: string;
  readonly dsTransactionId: string;
  /** True if the bank bears a fraudulent payment. */
  readonly isShifted: boolean;
};

const eciOf: Readonly<Record<Frictionless, string>> = { Y: "05", A: "06", U: "07", N: "07" };

export function secureResult(transStatus: Frictionless, id: string): SecureResult {
  const isShifted = transStatus === "Y" || transStatus === "A";
  const dsTransactionId = id.replace(/^auth_/, "");
  return { transStatus, version: "2.2.0", eci: eciOf[transStatus], dsTransactionId, isShifted };
}

/** Returns the result of an authentication without the customer, if there was one. */
export function frictionlessOf({ id, frictionless }: Pick<Authorization, "id" | "frictionless">) {
  return frictionless && secureResult(frictionless, id);
}
