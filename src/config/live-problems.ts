/** What must hold before real cards are taken, as far as one process can tell from its settings. Loopback is for the demo. */
import type { Config, Role } from "../config.ts";
import { isLoopback } from "../platform/database-address.ts";
import { findLiveSecretProblems, type NamedKeyFile } from "./live-secrets.ts";

/** Lines with what to set. What can do no harm while live has pretend gateways alone is a warning there. */
export type LiveFindings = { readonly problems: readonly string[]; readonly warnings: readonly string[] };

type Settings = Pick<Config, "service" | "vault" | "dashboard" | "errorDocsUrl">;

/** Nothing where live is not among the environments. `keyFiles` says where the keys that live uses are from. */
export function findLiveProblems(
  roles: readonly Role[],
  config: Settings,
  keyFiles: readonly NamedKeyFile[],
): LiveFindings {
  const { service, vault } = config;
  const live = [...(service?.environments ?? []), ...(vault?.environments ?? [])].filter(({ name }) => name === "live");
  if (live.length === 0) return { problems: [], warnings: [] };
  const areGatewaysPretend = service ? service.sandboxOrigin !== undefined : (vault?.gatewaysArePretend ?? false);
  const problems = findOriginProblems(roles, config);
  // A demo has its own keys.
  const secrets = findLiveSecretProblems(config, areGatewaysPretend ? [] : keyFiles);
  return areGatewaysPretend
    ? { problems, warnings: secrets }
    : { problems: [...problems, ...secrets.map((line) => `- ${line}`)], warnings: [] };
}

function findOriginProblems(roles: readonly Role[], { service, vault, errorDocsUrl }: Settings): string[] {
  const ownVaults = (service?.environments ?? []).flatMap(({ name, vault: used }) =>
    name === "live" && used?.mode === "self_hosted" ? [used.origin] : [],
  );
  const apiOrigins = openOrigins([service?.apiOrigin]);
  const vaultOrigins = openOrigins([...ownVaults, vault?.publicOrigin]);
  const dashboardOrigins = openOrigins([service?.dashboardOrigin]);
  const isPlain = ({ protocol }: URL) => protocol !== "https:";
  // Cookies and much else know hosts and no ports: what runs on one of them must not reach the other.
  const isShared = apiOrigins.some((api) => vaultOrigins.some(({ hostname }) => hostname === api.hostname));
  const named = [
    ["SWITCHYARD_API_ORIGIN", apiOrigins],
    ["SWITCHYARD_VAULT_ORIGIN", vaultOrigins],
    ["SWITCHYARD_DASHBOARD_ORIGIN", dashboardOrigins],
    ["SWITCHYARD_ERROR_DOCS_URL", openOrigins([errorDocsUrl])],
  ] as const;
  return [
    ...(vault && roles.length > 1 ? ["- the live vault runs alone: no other role in its process"] : []),
    ...named.slice(0, 3).flatMap(([name, urls]) => (urls.some(isPlain) ? [`- ${name} must be https in live`] : [])),
    ...(isShared ? ["- SWITCHYARD_API_ORIGIN and SWITCHYARD_VAULT_ORIGIN must have different host names in live"] : []),
    ...named.flatMap(([name, urls]) =>
      urls.some(isExample) ? [`- ${name} has the host of an example; set your own in live`] : [],
    ),
  ];
}

/** The names that examples are given by (RFC 2606), as docs/configuration.md does. */
function isExample({ hostname }: URL): boolean {
  return /(^|\.)example\.(com|net|org)$/.test(hostname);
}

function openOrigins(origins: readonly (string | undefined)[]): URL[] {
  const urls = origins
    .filter((origin) => origin !== undefined && URL.canParse(origin))
    .map((origin) => new URL(origin!));
  return urls.filter(({ hostname }) => !isLoopback(hostname.replace(/^\[(.*)\]$/, "$1")));
}
