/** Credentials of a configuration file: their sources, and their way to the service before the file is applied. */
import { readFileSync } from "node:fs";
import type { ChangeView, DashboardClient } from "../client/dashboard-client.ts";
import { type scopeOf, UsageError } from "./attachment.ts";

type Source = { readonly env: string } | { readonly file: string };

/** The sources of an account's credentials by its place, such as `connections.accounts[STRIPE:acct_1]`. */
export type Sources = ReadonlyMap<string, Readonly<Record<string, Source>>>;

/** Removes the sources from the file's content. Throws UsageError for a credential that is in the file itself. */
export function takeSources(file: string, content: Record<string, unknown>): Sources {
  const sources = new Map<string, Record<string, Source>>();
  const { accounts } = (content.connections ?? {}) as { accounts?: unknown };
  for (const account of Array.isArray(accounts) ? (accounts as Record<string, unknown>[]) : []) {
    const { credentials, ...rest } = account ?? {};
    if (credentials === undefined) continue;
    const place = `connections.accounts[${String(rest.gateway)}:${String(rest.account)}]`;
    delete account.credentials;
    if (typeof credentials !== "object" || credentials === null) throw new UsageError(`${file}: ${place}: ${rule}`);
    for (const [name, source] of Object.entries(credentials)) {
      if (!isSource(source)) throw new UsageError(`${file}: ${place}.credentials.${name}: ${rule}`);
    }
    sources.set(place, credentials as Record<string, Source>);
  }
  return sources;
}

const rule = "Name where the secret is, {env: NAME} or {file: PATH}: a file for a repository holds none.";

function isSource(source: unknown): source is Source {
  if (typeof source !== "object" || source === null) return false;
  const entries = Object.entries(source);
  return entries.length === 1 && /^(env|file)$/.test(entries[0]![0]) && typeof entries[0]![1] === "string";
}

async function read(place: string, sources: Sources): Promise<Record<string, string>> {
  const { readNamedVariable } = await import("../config/config.ts");
  const named = sources.get(place);
  if (named === undefined) throw new UsageError(`${place}: The file names no credentials for it.`);
  return Object.fromEntries(
    Object.entries(named).map(([name, source]) => {
      if ("file" in source) return [name, readFileSync(source.file, "utf8").trim()];
      const value = readNamedVariable(source.env);
      if (value === undefined)
        throw new UsageError(`${place}.credentials.${name}: Set the environment variable ${source.env}.`);
      return [name, value.expose()];
    }),
  );
}

/** The changes whose credentials have to be at the service before the file is applied. */
export function waitingIn(changes: readonly ChangeView[]): readonly ChangeView[] {
  return changes.filter(({ path = "", before, after }) => {
    return path.startsWith("connections.accounts[") && versionOf(before) !== versionOf(after);
  });
}

function versionOf(json = ""): number | undefined {
  return json === "" ? undefined : (JSON.parse(json) as { credentialsVersion?: number }).credentialsVersion;
}

/** Adds or rotates the credentials of each change and verifies them. The first that fails ends it. */
export async function verifyCredentials(
  { connections }: DashboardClient,
  scope: ReturnType<typeof scopeOf>,
  { waiting, sources }: { readonly waiting: readonly ChangeView[]; readonly sources: Sources },
): Promise<void> {
  // All are read before the first is used.
  const all = [];
  for (const { path = "", after = "" } of waiting) {
    const { gateway, account } = JSON.parse(after) as { gateway: string; account: string };
    all.push({ path, gateway, account, credentials: await read(path, sources) });
  }
  for (const { path, gateway, account, credentials } of all) {
    const { connections: known = [] } = await connections.listGatewayConnections(scope);
    const held = known.find((one) => one.gateway === gateway && one.account === account);
    const { verified, checks = [] } =
      held === undefined
        ? await connect(connections, { ...scope, gateway, account, credentials })
        : await connections.rotateGatewayCredentials({ ...scope, connectionId: held.connectionId ?? "", credentials });
    if (verified) continue;
    const failed = checks.filter(({ passed, required }) => required && !passed).map(({ detail }) => detail ?? "");
    const rest = held === undefined ? "The account stays connected, and unverified" : "The old credentials stay in use";
    throw new UsageError(
      `${path}: The gateway refuses these credentials. ${failed.join(" ")} ${rest}. Nothing is applied.`,
    );
  }
}

async function connect(
  connections: DashboardClient["connections"],
  account: Parameters<DashboardClient["connections"]["addGatewayConnection"]>[0],
) {
  const { merchantId = "", environment = "ENVIRONMENT_TEST" } = account;
  const { connection } = await connections.addGatewayConnection(account);
  // The file decides which payments are routed to it.
  const routing = environment === "ENVIRONMENT_LIVE" ? { routePayments: false } : {};
  const connectionId = connection?.connectionId ?? "";
  return connections.verifyGatewayConnection({ merchantId, environment, connectionId, ...routing });
}

/** Throws UsageError unless the second plan is the first one without the changes that were made meanwhile. */
export function requireSameRest(
  planned: readonly ChangeView[],
  now: readonly ChangeView[],
  waiting: readonly ChangeView[],
): void {
  const done = new Set(waiting.map(({ path }) => path));
  const restOf = (changes: readonly ChangeView[]) =>
    JSON.stringify(changes.filter(({ path }) => !done.has(path)).map(({ path, after }) => [path, after]));
  if (restOf(planned) === restOf(now)) return;
  throw new UsageError("The configuration was changed while credentials were verified. Plan again.");
}
