/** The rules written in protos (buf.validate), checked once for every surface and reported in one vocabulary. */
import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { createValidator, type Violation } from "@bufbuild/protovalidate";
import { type Finding, type JsonPath, type Problem, problemOf, sameOrInside } from "./problem.ts";
import { unreachable } from "./unreachable.ts";

const patterns = new Map<string, RegExp>();

/**
 * Matches with the platform's RegExp, which costs a tenth of the library's RE2. A pattern of a schema must therefore be
 * valid with the flag `u` and take linear time: it is our text, and only the value is a caller's.
 */
function matchPattern(pattern: string, value: string): boolean {
  const known = patterns.get(pattern) ?? new RegExp(pattern, "u");
  patterns.set(pattern, known);
  return known.test(value);
}

const validator = createValidator({ regexMatch: matchPattern });

/**
 * Rules of an application that no annotation can express, for any message type that they apply to; reported together
 * with the others.
 */
export type MessageRules = (schema: DescMessage, message: MessageShape<DescMessage>) => readonly Finding[];

/** The inputs of a validation besides the annotations. */
export type Circumstances = {
  readonly rules?: MessageRules | undefined;
  /** The findings of reading the message. */
  readonly known?: readonly Finding[] | undefined;
};

/**
 * The most problems of one answer; more would help no caller, and a body full of mistakes must not cause an answer
 * larger than itself.
 */
export const problemsMax = 50;

/**
 * Checks a message of any protocol. No problems means valid. Throws if a rule itself is broken, which
 * `prepareValidation` detects at start.
 */
export function validateMessage<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  circumstances: Circumstances = {},
): Problem[] {
  return findProblems(schema, message, circumstances)
    .slice(0, problemsMax)
    .map((finding) => problemOf(finding));
}

/**
 * Returns the known findings, and those of the rules: a value that was left out because it is wrong is not reported as
 * missing too, and rules about the message around it cannot be checked. No value is reported twice.
 */
export function findProblems<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  { rules, known = [] }: Circumstances,
): Finding[] {
  const leftOut = known.filter((finding) => finding.code !== "unknown_field");
  const violations = withoutRelated(findViolations(schema, message), leftOut);
  const further = rules === undefined ? [] : withoutRelated(rules(schema, message), [...leftOut, ...violations]);
  return [...known, ...violations, ...further];
}

function withoutRelated(findings: readonly Finding[], known: readonly Finding[]): Finding[] {
  return findings.filter(({ path }) => !known.some((other) => sameOrInside(other.path, path)));
}

/** Compiles the rules of these messages, which takes tens of milliseconds that no first request should spend. */
export function prepareValidation(schemas: Iterable<DescMessage>): void {
  for (const schema of new Set(schemas)) findViolations(schema, create(schema));
}

function findViolations<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Finding[] {
  const result = validator.validate(schema, message);
  switch (result.kind) {
    case "valid":
      return [];
    case "invalid":
      return result.violations.map(findingOf);
    case "error":
      throw result.error;
    default:
      return unreachable(result);
  }
}

function findingOf(violation: Violation): Finding {
  const path = jsonPathOf(violation);
  // A field without presence is missing at its zero value too: other protocols cannot distinguish the two.
  if (violation.ruleId === "required") return { path, code: "missing_field", detail: whatIsRequired(violation) };
  const what = whatIsWrong(violation);
  return { path, code: "invalid_field", detail: violation.forKey ? `has a key that is not valid: ${what}` : what };
}

/**
 * Describes a violation in words: an expression means nothing to people, so a schema states the form in the message of
 * its own rule.
 */
function whatIsWrong({ ruleId, message }: Violation): string {
  if (ruleId.endsWith(".pattern")) return "does not have the form that is described for it";
  // The wording of an enum's problem.
  const listed = message.replace(/^must be in list \[(.*)\]$/, "must be one of $1");
  return listed || `must satisfy the rule ${ruleId}`;
}

function whatIsRequired({ field }: Violation): string {
  const last = field.at(-1);
  if (last?.kind !== "oneof") return "is required";
  return `must have one of ${last.fields.map((each) => each.jsonName).join(", ")}`;
}

function jsonPathOf(violation: Violation): JsonPath {
  const path: (string | number)[] = [];
  for (const step of violation.field) {
    if (step.kind === "list_sub") path.push(step.index);
    else if (step.kind === "map_sub") path.push(String(step.key));
    // JSON does not show a oneof: its fields are members of the message around it.
    else if (step.kind !== "oneof") path.push(step.jsonName);
  }
  return path;
}

/** Returns a problem for each text of a message, however deep, that contains NUL. */
export function findNul(part: unknown, path: JsonPath = []): Finding[] {
  if (typeof part === "string") {
    if (!part.includes("\0")) return [];
    return [{ path, code: "invalid_field", detail: "must not contain the NUL character" }];
  }
  if (typeof part !== "object" || part === null || ArrayBuffer.isView(part)) return [];
  const isList = Array.isArray(part);
  // A oneof, whose fields are members of the message around it.
  if ("case" in part && "value" in part && typeof part.case === "string")
    return findNul(part.value, [...path.slice(0, -1), part.case]);
  return Object.entries(part).flatMap(([name, inner]) => findNul(inner, [...path, isList ? Number(name) : name]));
}
