/** Reads the file of cases and card ranges that --cases names. */
import { readFileSync } from "node:fs";
import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import type { RoutingRuleView } from "../client/dashboard-client.ts";
import { UsageError } from "./attachment.ts";

export type Cases = NonNullable<RoutingRuleView["cases"]>;

/** Reads the file. Throws UsageError, which names the file, the case and the key, if it does not have cases. */
export async function readCases(file: string): Promise<Cases> {
  if (file === "none") return {};
  const content = parse(readFileSync(file === "-" ? process.stdin.fd : file, "utf8"));
  if (content === undefined)
    throw new UsageError("The cases must be one JSON object with `list`, and `cardRanges` if you have any.");
  const { loadCaseSchemas } = await import("../client/dashboard-client.ts");
  const { RoutingCaseSchema, RoutingCasesSchema } = await loadCaseSchemas();
  const name = file === "-" ? "standard input" : file;
  const { list } = content;
  // Each case first: only its own reading can say which one it is.
  for (const [index, one] of (Array.isArray(list) ? list : []).entries()) {
    const { name: ofCase } = Object(one) as { name?: unknown };
    const which = typeof ofCase === "string" ? `"${ofCase}"` : index + 1;
    await requireForm(RoutingCaseSchema, one, `${name}: Case ${which}`);
  }
  await requireForm(RoutingCasesSchema, content, name);
  return content as Cases;
}

function parse(text: string): Record<string, JsonValue> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, JsonValue>) : undefined;
  } catch {
    return undefined;
  }
}

async function requireForm(schema: DescMessage, value: JsonValue, where: string): Promise<void> {
  const { createRegistry, fromJson } = await import("@bufbuild/protobuf");
  try {
    fromJson(schema, value);
  } catch (error) {
    throw new UsageError(`${where}: ${inWords(String(error), createRegistry(schema.file))} See docs/routing-cases.md.`);
  }
}

type Registry = ReturnType<typeof import("@bufbuild/protobuf").createRegistry>;

/** Puts an error of the library into the words of the file: its keys and values, and none of our message types. */
function inWords(text: string, registry: Registry): string {
  const [, kind, type = "", problem = ""] = /cannot decode (\w+) (\S+) from JSON: (.*)$/s.exec(text) ?? [];
  if (kind === "enum") {
    const values = registry.getEnum(type)?.values.filter(({ number }) => number !== 0) ?? [];
    return `${problem} is not one of ${values.map(({ name }) => name).join(", ")}.`;
  }
  if (kind === "field") {
    const cut = type.lastIndexOf(".");
    const field = registry.getMessage(type.slice(0, cut))?.fields.find(({ name }) => name === type.slice(cut + 1));
    return `"${field?.jsonName}": ${/\(u?int\d+\)/.test(problem) ? "expected a whole number" : problem}.`;
  }
  const keys = registry.getMessage(type)?.fields.map(({ jsonName }) => jsonName) ?? [];
  const what = problem.startsWith("key ") ? problem : "this must be an object";
  return `${what}; the keys are ${keys.join(", ")}.`;
}
