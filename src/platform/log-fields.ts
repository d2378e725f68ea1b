/**
 * The closed list of a log line's fields, each with its kind. A field that is not on it, or not of its kind, is
 * dropped.
 */
import { stdSerializers } from "pino";
import { encodeId, type IdPrefix } from "./ids.ts";

/** An error as lines show it: its other members are omitted, since PostgreSQL puts whole rows into them. */
type ErrorShown = {
  readonly type: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  readonly constraint: string | undefined;
};

// An error's message can contain a whole answer; a reader needs its beginning.
const messageCharactersMax = 4_096;
const stackCharactersMax = 16_384;
// Sentences of ours, and a server's message of one line.
const textCharactersMax = 500;
const listedMax = 20;

/** Describes anything that was thrown; the messages and stacks of its causes are in its own. */
export function describeError(thrown: unknown): ErrorShown {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { type, message, stack, code, constraint } = stdSerializers.err(error);
  return {
    type,
    message: message.slice(0, messageCharactersMax),
    stack: stack?.slice(0, stackCharactersMax),
    code,
    constraint,
  };
}

/** Returns the form in which a value is shown; undefined if it is not of the field's kind. */
type Kind<Value> = (value: Value) => unknown;

const wordShape = /^[\w.:+-]{1,80}$/;
const uuidShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Shows a public id; a UUID from a row becomes one, so that a line is found by the id that merchants and the dashboard
 * show.
 */
function id(prefix: IdPrefix): Kind<string> {
  const publicShape = new RegExp(`^${prefix}_[0-9a-z]{26}$`);
  return (value) => {
    if (publicShape.test(value)) return value;
    return uuidShape.test(value) ? encodeId(prefix, value) : undefined;
  };
}

/**
 * A name that our own code gave: of an environment, a loop, a kind. Not a sentence, and nothing that a merchant wrote.
 */
const word: Kind<string> = (value) => (wordShape.test(value) ? value : undefined);
/** A sentence of ours. */
const text: Kind<string> = (value) => (typeof value === "string" ? value.slice(0, textCharactersMax) : undefined);
const texts: Kind<readonly string[]> = (values) =>
  Array.isArray(values) ? values.slice(0, listedMax).map(text) : undefined;
const number: Kind<number> = (value) => (Number.isFinite(value) ? value : undefined);
const moment: Kind<Date> = (value) => (value instanceof Date ? value.toISOString() : undefined);
const error: Kind<unknown> = describeError;

const fields = {
  // These fields are in every line.
  pid: number,
  name: word,
  environment: word,
  // The subject of the line.
  requestId: id("req"),
  sessionId: id("ps"),
  attemptId: id("att"),
  event: id("evt"),
  endpoint: id("we"),
  merchant: id("mer"),
  alert: id("ntc"),
  loop: word,
  stream: word,
  // The event.
  alarm: word,
  code: word,
  err: error,
  kind: word,
  problem: text,
  reason: text,
  remedy: text,
  repairs: texts,
  rule: word,
  stage: word,
  // Amounts, counts and times.
  addresses: number,
  failingSince: moment,
  replyCode: number,
  status: number,
  tries: number,
} as const;

export type LogFields = {
  readonly [Name in keyof typeof fields]?: Parameters<(typeof fields)[Name]>[0] | undefined;
};

export const logFieldNames: readonly string[] = Object.keys(fields);

const kinds: ReadonlyMap<string, Kind<never>> = new Map(Object.entries(fields));

/** Returns the members that may be in a line; the names of the others go to `onDropped`. */
export function showFields(
  given: Readonly<Record<string, unknown>>,
  onDropped: (names: readonly string[]) => void,
): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  const dropped: string[] = [];
  for (const name in given) {
    const value = given[name];
    if (value === undefined) continue;
    const seen = kinds.get(name)?.(value as never);
    if (seen === undefined) dropped.push(name);
    else shown[name] = seen;
  }
  if (dropped.length > 0) onDropped(dropped);
  return shown;
}
