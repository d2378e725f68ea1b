/** Summarizes profiles: time by function and file, allocations by function, contents of the heap. PURE. */

type CallFrame = { readonly functionName: string; readonly url: string; readonly lineNumber: number };
type CpuNode = { readonly id: number; readonly callFrame: CallFrame; readonly children?: readonly number[] };

export type CpuProfile = {
  readonly nodes: readonly CpuNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

export type AllocationNode = {
  readonly callFrame: CallFrame;
  readonly selfSize: number;
  readonly children: readonly AllocationNode[];
};

export type HeapSnapshot = {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly (readonly string[] | string)[];
    };
  };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
};

/** A name with its share. `total` includes its callees. */
export type Weight = { readonly what: string; readonly self: number; readonly total: number };

/** Milliseconds by function and by module (a package, or a file of ours); `busyMs` is without idling. */
export type CpuSummary = {
  readonly busyMs: number;
  readonly gcMs: number;
  readonly functions: readonly Weight[];
  readonly modules: readonly Weight[];
};

const notWork = ["(idle)", "(root)"];

/**
 * Returns the time of the main thread. A sample counts for `sampleEveryMs` at most: if more time has passed since the
 * one before, the thread had no processor for the rest of it, whatever its call.
 */
export function summarizeCpu(profile: CpuProfile, { sampleEveryMs }: { sampleEveryMs: number }): CpuSummary {
  const { nodes, samples, timeDeltas } = profile;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const selfMs = new Map<number, number>();
  for (const [index, id] of samples.entries()) {
    selfMs.set(id, (selfMs.get(id) ?? 0) + Math.min((timeDeltas[index] ?? 0) / 1_000, sampleEveryMs));
  }
  const functions = new Tally();
  const modules = new Tally();
  let gcMs = 0;
  let busyMs = 0;
  for (const [id, ms] of selfMs) {
    const node = byId.get(id)!;
    const { functionName } = node.callFrame;
    if (notWork.includes(functionName)) continue;
    busyMs += ms;
    if (functionName === "(garbage collector)") gcMs += ms;
    const stack: CallFrame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) stack.push(byId.get(at)!.callFrame);
    const frames = stack.filter((frame) => frame.functionName !== "(root)");
    functions.add(frames.map(functionOf), ms);
    modules.add(frames.map(moduleOf), ms);
  }
  return { busyMs, gcMs, functions: functions.sorted(), modules: modules.sorted() };
}

/** Returns allocated bytes by function; most of them are garbage by now. */
export function summarizeAllocations(head: AllocationNode): Weight[] {
  const functions = new Tally();
  const add = (node: AllocationNode, callers: readonly string[]) => {
    const frames = [functionOf(node.callFrame), ...callers];
    if (node.selfSize > 0) functions.add(frames, node.selfSize);
    for (const child of node.children) add(child, frames);
  };
  add(head, []);
  return functions.sorted();
}

/** Returns the contents of the heap: bytes and count by constructor, or by V8's own kind. */
export function summarizeHeap({
  snapshot,
  nodes,
  strings,
}: HeapSnapshot): { what: string; bytes: number; count: number }[] {
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [typeAt, nameAt, sizeAt] = ["type", "name", "self_size"].map((field) => fields.indexOf(field));
  const kinds = types[typeAt!] as readonly string[];
  const sums = new Map<string, { bytes: number; count: number }>();
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = kinds[nodes[at + typeAt!]!]!;
    const name = strings[nodes[at + nameAt!]!]!;
    const what = kind === "object" || kind === "native" ? `${name} (${kind})` : `(${kind})`;
    const sum = sums.get(what) ?? { bytes: 0, count: 0 };
    sum.bytes += nodes[at + sizeAt!]!;
    sum.count += 1;
    sums.set(what, sum);
  }
  return [...sums].map(([what, sum]) => ({ what, ...sum })).toSorted((one, other) => other.bytes - one.bytes);
}

class Tally {
  readonly #sums = new Map<string, { self: number; total: number }>();

  /** Adds frames from the innermost outwards; the first gets the weight itself, the others once each. */
  add(frames: readonly string[], weight: number): void {
    for (const what of new Set(frames)) {
      const sum = this.#sums.get(what) ?? { self: 0, total: 0 };
      sum.total += weight;
      if (what === frames[0]) sum.self += weight;
      this.#sums.set(what, sum);
    }
  }

  sorted(): Weight[] {
    return [...this.#sums].map(([what, sum]) => ({ what, ...sum })).toSorted((one, other) => other.self - one.self);
  }
}

function functionOf(frame: CallFrame): string {
  const name = frame.functionName || "(anonymous)";
  return frame.url === "" ? name : `${name} ${fileOf(frame.url)}:${frame.lineNumber + 1}`;
}

function moduleOf({ functionName, url }: CallFrame): string {
  if (url === "") return functionName.startsWith("(") ? functionName : "(V8 and native)";
  const file = fileOf(url);
  return /^(@[^/]+\/[^/]+|[^/:]+) › /.exec(file)?.[1] ?? file;
}

/** Returns a file of a package as `package › file`, and one of ours from `src` or `gen` on. */
function fileOf(url: string): string {
  const inPackage = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(url);
  if (inPackage) return `${inPackage[1]} › ${inPackage[2]}`;
  return url.replace(/^.*?\/(?=(src|gen|widget)\/)/, "").replace(/\?.*$/, "");
}
