/** Rules about imports between folders and files. The table is the map of the code base: a new folder needs a row. */
import type { ImportFact, SourceFacts } from "./source-facts.ts";

const foundation = ["brand", "limits", "platform"];
const capabilities = [...foundation, "card-vault", "gateways", "events", "accounts"];
const flow = [...capabilities, "core"];
const payment = [...flow, "disputes", "refunds", "settlement", "oversight", "reporting", "retention"];
const surfaces = [...payment, "config", "version", "edge", "dashboard", "metrics", "transcoder"];
const product = [
  ...surfaces,
  "client",
  "client/merchant",
  "card-vault/own",
  "migrations",
  "doctor",
  "processes",
  "sandbox",
];

/**
 * Each part (a folder of src, a file in src itself, or widget) and the parts that it may import besides itself, all of
 * them in rows above. Biome's rule noImportCycles finds files that import themselves through others, types included.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  brand: [],
  limits: [],
  version: [],
  platform: ["brand", "limits"],
  transcoder: [],
  "card-vault": foundation,
  // The client of our own vault, which speaks its generated RPC.
  "card-vault/own": [...foundation, "card-vault"],
  gateways: [...foundation, "card-vault"],
  accounts: foundation,
  events: foundation,
  core: capabilities,
  retention: flow,
  disputes: flow,
  refunds: [...flow, "disputes"],
  settlement: [...flow, "disputes", "refunds"],
  oversight: [...flow, "disputes", "refunds", "settlement", "retention"],
  reporting: [...flow, "disputes", "refunds", "settlement"],
  metrics: payment,
  edge: [...payment, "transcoder"],
  // The rules about roles that the guard and the page share.
  "dashboard/roles": [],
  dashboard: [...payment, "transcoder", "dashboard/roles"],
  "dashboard/ui": ["brand", "dashboard/roles"],
  widget: [],
  // The only process that sees a card number: it shares only the foundation with the others.
  vault: ["platform"],
  // Emulates gateways: it shares their test cards, and nothing of the payment.
  sandbox: [...foundation, "gateways"],
  migrations: foundation,
  config: flow,
  // It reads everything and changes nothing.
  doctor: [...payment, "config", "migrations"],
  // The package that merchants install knows nothing of the server.
  "client/merchant": [],
  // Typed clients.
  client: [...foundation, "client/merchant"],
  // Programs that readers copy: they use only what they show.
  "client/examples": ["client", "client/merchant"],
  // A merchant's integration: it uses only what any merchant can.
  shop: ["client/merchant"],
  // Composes each process: the only part that starts a vault, and that builds the pages which the edge serves.
  processes: [...surfaces, "client", "card-vault/own", "migrations", "sandbox", "vault", "widget", "dashboard/ui"],
  demo: [...product, "shop"],
  // It names gateways as the pages do.
  "command-line": [...product, "shop", "demo", "dashboard/ui"],
  main: ["command-line"],
};

// Files that only developers and tests run; tests may import what they test, from any folder.
const forDevelopersOnly = /^src\/dev\/|\.(test|fixture|conformance|screenshots)\.tsx?$/;

// "Connect and generated types appear only in …" (architecture): where protocol meets domain, and the typed clients.
const mayUseGenerated =
  /-rpc\.ts$|^src\/(edge|vault|transcoder|client|dashboard|card-vault\/own)\/|^widget\/|^src\/(processes\/\w+|events\/outbox)\.ts$/;

// Money, limits and errors are pure themselves; protobuf-es computes on messages in memory and does no IO.
const pureMayImport = [
  "src/limits.ts",
  "src/platform/errors.ts",
  "src/platform/ids.ts",
  "src/platform/money.ts",
  // A table of letters.
  "any-ascii",
  "@bufbuild/protobuf",
  "@bufbuild/protobuf/wkt",
];

function partOf(path: string): string {
  const part = /^src\/(dashboard\/(?:ui|roles)|client\/merchant|client\/examples|card-vault\/own)\//.exec(path)?.[1];
  if (part !== undefined) return part;
  const [top = "", next = ""] = path.split("/");
  return top === "src" ? next.replace(/\.m?[jt]s$/, "") : top;
}

/** Finds imports that the table does not allow, and product code that imports files for developers only. */
export function findForbiddenImports(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path, imports }) => {
    if (forDevelopersOnly.test(path)) return [];
    const part = partOf(path);
    const allowed = mayImport[part];
    if (allowed === undefined) return [`${path}: "${part}" has no row in the table of src/dev/tidy/folder-rules.ts`];
    return imports.filter(isOurs).flatMap(({ target, line }) => {
      if (forDevelopersOnly.test(target)) return [`${path}:${line}: imports ${target}, which only developers run`];
      const isAllowed = [part, ...allowed].includes(partOf(target)) || target.startsWith("gen/");
      return isAllowed ? [] : [`${path}:${line}: "${part}" may not import "${partOf(target)}" (${target})`];
    });
  });
}

/** Finds generated or Connect types outside the parts where a protocol meets the domain. */
export function findMisplacedGeneratedTypes(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path, imports }) =>
    forDevelopersOnly.test(path) || mayUseGenerated.test(path)
      ? []
      : imports
          .filter(({ target }) => target.startsWith("gen/") || target.startsWith("@connectrpc/"))
          .map(({ target, line }) => `${path}:${line}: imports ${target}, which belongs to the protocol's edge`),
  );
}

/** Files marked PURE that import anything at run time but PURE files, money, limits and errors. */
export function findImpureImports(sources: readonly SourceFacts[]): string[] {
  const pure = sources.filter(({ openingComment }) => /\bPURE\b/.test(openingComment));
  const allowed = new Set([...pureMayImport, ...pure.map(({ path }) => path)]);
  return pure.flatMap(({ path, imports }) =>
    imports
      .filter(({ target, isTypeOnly }) => !isTypeOnly && !allowed.has(target))
      .map(({ target, line }) => `${path}:${line}: is PURE and imports ${target}`),
  );
}

/** Finds rows that name a part of a row below them. The table is an order, and no import points against it. */
export function findUnorderedRows(table: Readonly<Record<string, readonly string[]>> = mayImport): string[] {
  const parts = Object.keys(table);
  return parts.flatMap((part, index) =>
    (table[part] ?? [])
      .filter((named) => !parts.slice(0, index).includes(named))
      .map((named) => `"${part}" may import "${named}", which has no row above it`),
  );
}

function isOurs({ target }: ImportFact): boolean {
  return /^(src|widget|gen)\//.test(target);
}
