/** All routes of a transcoder as a tree of path segments, and their search. */
import { HttpRuleError } from "./http-rule.ts";
import { decodeSegment, type Segment } from "./path-template.ts";
import type { Route } from "./route.ts";

/** The routes of one path template, by HTTP method. */
type MethodTable = Map<string, Route>;

type Node = {
  readonly literals: Map<string, Node>;
  one: Node | undefined;
  rest: Node | undefined;
  /** The routes that end here, by verb. */
  readonly byVerb: Map<string, MethodTable>;
};

/** A path that belongs to at least one route. */
export type PathMatch = {
  /** The segments as sent, still percent-encoded, without the verb. */
  readonly rawSegments: readonly string[];
  /** The text after the question mark, as sent. */
  readonly rawQuery: string;
  /** The tables of every matching template, the most specific first; never empty. */
  readonly candidates: readonly MethodTable[];
};

/** Finds the routes of a request target: literal before `*` before `**`, segment by segment from the left. */
export class RouteTable {
  readonly #root = emptyNode();

  /** Adds a route. Throws HttpRuleError if another route matches exactly the same requests. */
  add(route: Route): void {
    let node = this.#root;
    for (const segment of route.template.segments) node = openChild(node, segment);
    const { verb } = route.template;
    const table = node.byVerb.get(verb) ?? new Map<string, Route>();
    const existing = table.get(route.httpMethod);
    if (existing !== undefined) {
      const other = `${existing.method.parent.typeName}.${existing.method.name}`;
      throw new HttpRuleError(route.method, `the same ${route.httpMethod} path is already used by ${other}`);
    }
    node.byVerb.set(verb, table.set(route.httpMethod, route));
  }

  /** Matches a target in origin form as it was sent. An empty segment, and so a trailing slash, matches nothing. */
  match(target: string): PathMatch | undefined {
    const queryAt = target.indexOf("?");
    const path = queryAt === -1 ? target : target.slice(0, queryAt);
    if (!path.startsWith("/")) return undefined;
    const rawSegments = path === "/" ? [] : path.slice(1).split("/");
    if (rawSegments.includes("")) return undefined;
    const rawQuery = queryAt === -1 ? "" : target.slice(queryAt + 1);
    return this.#matchVerb(rawSegments, rawQuery) ?? this.#matchWhole(rawSegments, rawQuery);
  }

  /** Matches the verb. If no route has it, the colon and the text after it are part of the last segment. */
  #matchVerb(segments: readonly string[], rawQuery: string): PathMatch | undefined {
    const last = segments.at(-1) ?? "";
    const colonAt = last.lastIndexOf(":");
    // A colon with nothing before or behind it begins no verb.
    if (colonAt <= 0 || colonAt === last.length - 1) return undefined;
    const rawSegments = [...segments.slice(0, -1), last.slice(0, colonAt)];
    const candidates = collect(this.#root, rawSegments.map(decodeSegment), last.slice(colonAt + 1));
    return candidates.length === 0 ? undefined : { rawSegments, rawQuery, candidates };
  }

  #matchWhole(rawSegments: readonly string[], rawQuery: string): PathMatch | undefined {
    const candidates = collect(this.#root, rawSegments.map(decodeSegment), "");
    return candidates.length === 0 ? undefined : { rawSegments, rawQuery, candidates };
  }
}

/**
 * Returns the route that serves an HTTP method on a matched path: HEAD is served by GET, `*` serves all methods without
 * their own route.
 */
export function findRoute({ candidates }: PathMatch, httpMethod: string): Route | undefined {
  for (const table of candidates) {
    const route = table.get(httpMethod) ?? (httpMethod === "HEAD" ? table.get("GET") : undefined) ?? table.get("*");
    if (route !== undefined) return route;
  }
  return undefined;
}

/** Returns the methods for the Allow header of a matched path. */
export function allowedMethods({ candidates }: PathMatch): string[] {
  const methods = new Set(candidates.flatMap((table) => [...table.keys()]));
  if (methods.has("GET")) methods.add("HEAD");
  return [...methods.add("OPTIONS")].sort();
}

function emptyNode(): Node {
  return { literals: new Map(), one: undefined, rest: undefined, byVerb: new Map() };
}

function openChild(node: Node, segment: Segment): Node {
  if (segment.type !== "literal") {
    node[segment.type] ??= emptyNode();
    return node[segment.type]!;
  }
  const child = node.literals.get(segment.text) ?? emptyNode();
  node.literals.set(segment.text, child);
  return child;
}

/**
 * Collects the matching tables. Segments are decoded, undefined if that failed: such a segment matches no literal, but
 * may fill a variable and be reported.
 */
function collect(node: Node, segments: readonly (string | undefined)[], verb: string): MethodTable[] {
  const found: MethodTable[] = [];
  const walk = (at: Node | undefined, position: number): void => {
    if (at === undefined) return;
    if (position === segments.length) addTable(at);
    else {
      walk(at.literals.get(segments[position] ?? ""), position + 1);
      walk(at.one, position + 1);
    }
    if (at.rest !== undefined) addTable(at.rest);
  };
  const addTable = ({ byVerb }: Node): void => {
    const table = byVerb.get(verb);
    if (table !== undefined) found.push(table);
  };
  walk(node, 0);
  return found;
}
