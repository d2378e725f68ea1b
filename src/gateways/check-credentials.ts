/** Checks the values entered to connect an account against what the gateway's connector declares. Makes no request. */
import type { FieldProblem } from "../platform/errors.ts";
import type { CredentialField } from "./connector.ts";

/** Returns every value that is missing, unknown or of the wrong shape; the values themselves are not repeated. */
export function findCredentialProblems(
  fields: readonly CredentialField[],
  entered: Readonly<Record<string, string>>,
): FieldProblem[] {
  const problem = (name: string, code: FieldProblem["code"], detail: string): FieldProblem => ({
    param: `credentials.${name}`,
    pointer: `/credentials/${name}`,
    code,
    detail,
  });
  const known = fields.flatMap(({ name, shape, hint, isOptional, mistakes = [] }) => {
    const value = entered[name];
    if (isOptional && !value) return [];
    if (value === undefined || value === "") return [problem(name, "missing_field", hint)];
    if (shape.test(value)) return [];
    const mistake = mistakes.find((known) => known.shape.test(value));
    return [problem(name, "invalid_field", mistake === undefined ? hint : `${mistake.detail} ${hint}`)];
  });
  const names = fields.map(({ name }) => name);
  const unknown = Object.keys(entered)
    .filter((name) => !names.includes(name))
    .map((name) => problem(name, "unknown_field", `The credentials of this gateway are ${names.join(", ")}.`));
  return [...known, ...unknown];
}
