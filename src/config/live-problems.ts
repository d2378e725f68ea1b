/**
 * Checks that must pass before real cards are accepted, as far as one process's settings show. Loopback is for the
 * demo.
 */

import { isLoopback } from "../platform/database-address.ts";
import type { Config, Role } from "./checked-config.ts";
import { findLiveSecretProblems, type NamedKeyFile } from "./live-secrets.ts";

/** Lines with what to set. Problems that are harmless while live has only sandbox gateways are warnings there. */
export type LiveFindings = { readonly problems: readonly string[]; readonly warnings: readonly string[] };

type Settings = Pick<Config, "service" | "vault" | "dashboard" | "errorDocsUrl">;

/** Returns no findings if live is not among the environments. `keyFiles` names the sources of live's keys. */
export function findLiveProblems(
  roles: readonly Role[],
  config: Settings,
  keyFiles: readonly NamedKeyFile[],
): LiveFindings {
  const { service, vault } = config;
  const live = [...(service?.environments ?? []), ...(vault?.environments ?? [])].filter(({ name }) => name === "live");
  if (live.length === 0) return { problems: [], warnings: [] };
  const usesSandboxGateways = service ? service.sandboxOrigin !== undefined : (vault?.usesSandboxGateways ?? false);
  const problems = findOriginProblems(roles, config);
  // A demo has its own keys.
  const secrets = findLiveSecretProblems(config, usesSandboxGateways ? [] : keyFiles);
  return usesSandboxGateways
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
  // Cookies, among others, distinguish hosts but not ports: an application on one of them must not reach the other.
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

/** Reports whether a name is an example's (RFC 2606), as in docs/configuration.md. */
function isExample({ hostname }: URL): boolean {
  return /(^|\.)example\.(com|net|org)$/.test(hostname);
}

function openOrigins(origins: readonly (string | undefined)[]): URL[] {
  const urls = origins
    .filter((origin) => origin !== undefined && URL.canParse(origin))
    .map((origin) => new URL(origin!));
  return urls.filter(({ hostname }) => !isLoopback(hostname.replace(/^\[(.*)\]$/, "$1")));
}
