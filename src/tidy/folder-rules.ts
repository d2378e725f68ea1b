/** Who may import whom, between folders and files. The table is the map of the code base: a new folder needs a row. */
import type { ImportFact, SourceFacts } from "./source-facts.ts";

const foundation = ["limits", "platform"];
const capabilities = [...foundation, "accounts", "events", "gateways"];
const payment = [...capabilities, "core", "notifications"];
const faces = [
  ...payment,
  "config",
  "dashboard-settings",
  "server-keys",
  "server-key-rotation",
  "version",
  "edge",
  "dashboard",
  "transcoder",
  "client",
  "client/merchant",
];
const product = [...faces, "environment", "doctor", "app", "start-dashboard", "serve", "migrations", "shop", "demo"];

/** Each place (a folder of src, a file in src itself, or widget) and the places it may import besides itself. */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  limits: [],
  version: [],
  platform: ["limits"],
  transcoder: [],
  accounts: foundation,
  events: foundation,
  gateways: foundation,
  core: capabilities,
  notifications: [...capabilities, "core"],
  metrics: [...capabilities, "core"],
  edge: [...payment, "transcoder"],
  dashboard: [...payment, "transcoder"],
  "dashboard/ui": [],
  widget: [],
  // The only process that sees a card number: it shares nothing with the others but the ground they stand on.
  vault: ["platform"],
  migrations: foundation,
  config: [...foundation, "gateways", "server-keys", "core", "dashboard-settings"],
  "dashboard-settings": ["platform", "server-keys"],
  "server-keys": ["platform", "core"],
  "server-key-rotation": ["server-keys"],
  environment: [...faces, "metrics", "migrations"],
  // It looks at everything and changes nothing.
  doctor: [...payment, "config", "server-keys", "migrations"],
  // It serves the widget's files, so it builds them.
  app: [...faces, "environment", "metrics", "migrations", "widget"],
  // The dashboard's part of the composition root, which also bundles its page.
  "start-dashboard": [...faces, "environment", "app", "dashboard/ui"],
  // The one place that starts a vault, because each process of the service is started here.
  serve: [...faces, "environment", "app", "start-dashboard", "vault", "metrics", "migrations"],
  "command-line": product,
  main: [...product, "command-line"],
  // Typed clients, some of which are what a capability asked for (a card forwarder).
  client: [...foundation, "gateways", "client/merchant"],
  // What merchants install knows nothing of the server.
  "client/merchant": [],
  // Programs that others copy: they may use what they show, and nothing else.
  "client/examples": ["client", "client/merchant"],
  // A merchant's integration: it may know of us only what any merchant can.
  shop: ["client/merchant"],
  demo: product,
  "set-up": [],
  // Checks of what is around the code: image, manifests, packages, licences. It knows what roles and settings there are.
  packaging: [...product, "widget"],
  testing: [...product, "e2e"],
  simulation: [...product, "testing"],
  bench: [...product, "testing", "simulation"],
  e2e: [...product, "testing", "simulation"],
  tidy: [],
};

// Places and files that only tests run; tests may import what they test, wherever it lives.
const forTestsOnly =
  /^src\/(testing|simulation|bench|e2e|packaging|tidy)\/|\/testing\/|(\.(test|conformance)|-fixture)\.ts$|^src\/tidy/;

// "Connect and generated types appear only in …" (architecture): where protocol meets domain, and the typed clients.
const mayUseGenerated =
  /-rpc\.ts$|^src\/(edge|vault|transcoder|client|dashboard)\/|^widget\/|^src\/(environment|app|events\/outbox)\.ts$/;

// Money and limits are pure themselves; protobuf-es computes on messages in memory and does no IO.
const pureMayImport = ["src/limits.ts", "src/platform/money.ts", "@bufbuild/protobuf", "@bufbuild/protobuf/wkt"];

/** The place of a file in the table. */
export function placeOf(path: string): string {
  const part = /^src\/(dashboard\/ui|client\/merchant|client\/examples)\//.exec(path)?.[1];
  if (part !== undefined) return part;
  const [top = "", next = ""] = path.split("/");
  return top === "src" ? next.replace(/\.ts$/, "") : top;
}

/** Imports that the table does not allow, and product code that imports what is there for tests. */
export function findForbiddenImports(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path, imports }) => {
    if (forTestsOnly.test(path)) return [];
    const place = placeOf(path);
    const allowed = mayImport[place];
    if (allowed === undefined) return [`${path}: "${place}" has no row in the table of src/tidy/folder-rules.ts`];
    return imports.filter(isOurs).flatMap(({ target, line }) => {
      if (forTestsOnly.test(target)) return [`${path}:${line}: imports ${target}, which is there for tests`];
      const isAllowed = [place, ...allowed].includes(placeOf(target)) || target.startsWith("gen/");
      return isAllowed ? [] : [`${path}:${line}: "${place}" may not import "${placeOf(target)}" (${target})`];
    });
  });
}

/** Generated or Connect types beyond the places where a protocol meets the domain. */
export function findMisplacedGeneratedTypes(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path, imports }) =>
    forTestsOnly.test(path) || mayUseGenerated.test(path)
      ? []
      : imports
          .filter(({ target }) => target.startsWith("gen/") || target.startsWith("@connectrpc/"))
          .map(({ target, line }) => `${path}:${line}: imports ${target}, which belongs to the protocol's edge`),
  );
}

/** Files marked PURE that import anything at run time but PURE files, money and limits. */
export function findImpureImports(sources: readonly SourceFacts[]): string[] {
  const pure = sources.filter(({ openingComment }) => /\bPURE\b/.test(openingComment));
  const allowed = new Set([...pureMayImport, ...pure.map(({ path }) => path)]);
  return pure.flatMap(({ path, imports }) =>
    imports
      .filter(({ target, isTypeOnly }) => !isTypeOnly && !allowed.has(target))
      .map(({ target, line }) => `${path}:${line}: is PURE and imports ${target}`),
  );
}

/** Files that load themselves by way of others (type imports load nothing): each cycle once, as the path around it. */
export function findCycles(sources: readonly SourceFacts[]): string[] {
  const loaded = (imports: readonly ImportFact[]) => imports.filter(({ isTypeOnly }) => !isTypeOnly);
  const importsOf = new Map(sources.map(({ path, imports }) => [path, loaded(imports).map(({ target }) => target)]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) cycles.push(around(trail.slice(trail.indexOf(path))));
    if (trail.includes(path) || done.has(path)) return;
    for (const target of importsOf.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of importsOf.keys()) visit(path, []);
  return cycles;
}

/** A cycle as a path, from the file that comes first by name, however it was entered. */
function around(files: readonly string[]): string {
  const start = files.indexOf([...files].sort()[0] ?? "");
  return [...files.slice(start), ...files.slice(0, start + 1)].join(" → ");
}

function isOurs({ target }: ImportFact): boolean {
  return /^(src|widget|gen)\//.test(target);
}
