/** Rewrites OpenAPI schemas so that a JSON Schema validator checks them as strictly as a gateway does. Pure. */

export type Json = { readonly [name: string]: unknown };

/** OpenAPI 3.0 says `nullable` beside a type, an enum or alternatives; JSON Schema has null among them. */
export function spellOutNull(schema: Json): Json {
  const { nullable, ...rest } = mapMembers(schema, spellOutNull);
  if (nullable !== true) return nullable === undefined || nullable === false ? rest : { nullable, ...rest };
  return { anyOf: [rest, { type: "null" }] };
}

/**
 * Closes objects that name their members against others, so that a misspelt one is found. Parts of an `allOf` each name
 * only some, so the whole is closed in their place; an object that names none (metadata) stays open.
 */
export function closeObjects(schema: Json): Json {
  const parts = new Set<unknown>();
  collectParts(schema, parts);
  if (!isObject(schema.schemas)) return closeUnless(schema, false);
  const closed = Object.entries(schema.schemas).map(([name, one]) => [
    name,
    isObject(one) ? closeUnless(one, parts.has(`#/components/schemas/${name}`)) : one,
  ]);
  return { ...closeUnless({ ...schema, schemas: {} }, false), schemas: Object.fromEntries(closed) };
}

/** Collects the references of every `allOf`. */
function collectParts(schema: Json, parts: Set<unknown>): void {
  for (const [name, value] of Object.entries(schema)) {
    for (const item of [value].flat()) {
      if (!isObject(item)) continue;
      if (name === "allOf") parts.add(item.$ref);
      collectParts(item, parts);
    }
  }
}

function closeUnless(schema: Json, isPart: boolean): Json {
  const closed = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, closeMember(name, value)]),
  ) as Json;
  const names = isObject(closed.properties) && Object.keys(closed.properties).length > 0;
  const isSchema = closed.type === "object" || closed.type === undefined;
  if (isPart || !isSchema || "additionalProperties" in closed) return closed;
  if (Array.isArray(closed.allOf)) return { ...closed, unevaluatedProperties: false };
  return names ? { ...closed, additionalProperties: false } : closed;
}

function closeMember(name: string, value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map((item: unknown) => (isObject(item) ? closeUnless(item, name === "allOf") : item));
  }
  return isObject(value) ? closeUnless(value, false) : value;
}

function mapMembers(schema: Json, map: (member: Json) => Json): Json {
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => {
      if (Array.isArray(value)) return [name, value.map((item: unknown) => (isObject(item) ? map(item) : item))];
      return [name, isObject(value) ? map(value) : value];
    }),
  );
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
