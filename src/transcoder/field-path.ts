/** Dotted paths to fields of a message, as path variables and query parameters name them. */
import type { DescField, DescMessage, JsonObject } from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import type { JsonPath } from "./problem.ts";

/** The fields from a message down to one inside it; never empty. */
export type FieldPath = readonly DescField[];

// A recursive type has endless paths; none needs to be deeper than a body may be.
const stepsMax = 32;

/** Follows names from field to field; every field but the last must be a single message. Undefined if one is not. */
export function findFieldPath(
  desc: DescMessage,
  names: readonly string[],
  naming: "name" | "jsonName",
): FieldPath | undefined {
  if (names.length > stepsMax) return undefined;
  const fields: DescField[] = [];
  let parent: DescMessage | undefined = desc;
  for (const name of names) {
    const field: DescField | undefined = parent?.fields.find((each) => each[naming] === name);
    if (field === undefined) return undefined;
    fields.push(field);
    parent = field.fieldKind === "message" && hasMembers(field.message) ? field.message : undefined;
  }
  return fields;
}

/**
 * Reports whether JSON writes a message as an object of its fields; a Timestamp, a Struct and similar types have
 * another form.
 */
export function hasMembers(desc: DescMessage): boolean {
  return !hasCustomJsonRepresentation(desc);
}

/** Returns the same path in JSON names. */
export function jsonPathTo(fields: FieldPath): JsonPath {
  return fields.map((field) => field.jsonName);
}

/**
 * Returns the object that holds, or will hold, the last field of a path; missing objects on the way are created.
 * Undefined if a step on the way belongs to a oneof that is already set otherwise.
 */
export function openContainer(json: JsonObject, fields: FieldPath): JsonObject | undefined {
  let container = json;
  for (const field of fields) {
    if (oneofIsTaken(container, field)) return undefined;
    if (field === fields.at(-1)) break;
    container[field.jsonName] ??= {};
    container = container[field.jsonName] as JsonObject;
  }
  return container;
}

function oneofIsTaken(container: JsonObject, field: DescField): boolean {
  return field.oneof?.fields.some((other) => other !== field && Object.hasOwn(container, other.jsonName)) ?? false;
}
