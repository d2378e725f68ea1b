/** Writes path templates in OpenAPI's form, where a parameter is one segment. PURE. */
import type { PathTemplate, PathVariable } from "../path-template.ts";

/** A parameter of a path, and the variable that it fills, wholly or in part; undefined for a bare wildcard. */
export type PathParameter = {
  readonly name: string;
  readonly variable: PathVariable | undefined;
  readonly isWhole: boolean;
};

/** A path such as `/v1/books/{name}` and its parameters in order. */
export type PathText = { readonly path: string; readonly parameters: readonly PathParameter[] };

/** Writes a template. `nameOf` returns a variable's name; one of several segments is split into `name.1`, `name.2`. */
export function writePath(template: PathTemplate, nameOf: (variable: PathVariable) => string): PathText {
  const { segments, variables, verb } = template;
  const parameters: PathParameter[] = [];
  const parts = segments.map((segment, at) => {
    if (segment.type === "literal") return encodeURI(segment.text);
    const variable = variables.find(({ start, end = segments.length }) => start <= at && at < end);
    const parameter = nameParameter(variable, segments, parameters.length, nameOf);
    parameters.push(parameter);
    return `{${parameter.name}}`;
  });
  return { path: `/${parts.join("/")}${verb === "" ? "" : `:${verb}`}`, parameters };
}

function nameParameter(
  variable: PathVariable | undefined,
  segments: PathTemplate["segments"],
  position: number,
  nameOf: (variable: PathVariable) => string,
): PathParameter {
  if (variable === undefined) return { name: `segment${position + 1}`, variable, isWhole: false };
  const captured = segments.slice(variable.start, variable.end);
  const wildcards = captured.filter(({ type }) => type !== "literal").length;
  const name = nameOf(variable);
  return {
    name: wildcards === 1 ? name : `${name}.${position + 1}`,
    variable,
    isWhole: captured.length === 1,
  };
}
