/** What must hold before real cards are taken, as far as one process can tell from its settings. Loopback is for the demo. */
import type { Config, Role } from "../config.ts";

/** A line each, with what to set; none where live is not among the environments. */
export function findLiveProblems(
  roles: readonly Role[],
  { service, vault }: Pick<Config, "service" | "vault">,
): string[] {
  const live = [...(service?.environments ?? []), ...(vault?.environments ?? [])].filter(({ name }) => name === "live");
  if (live.length === 0) return [];
  const ownVaults = live.flatMap((environment) =>
    "vault" in environment && environment.vault.mode === "self_hosted" ? [environment.vault.origin] : [],
  );
  const apiOrigins = openOrigins(service ? [service.apiOrigin] : []);
  const vaultOrigins = openOrigins([...ownVaults, ...(vault ? [vault.publicOrigin] : [])]);
  const isPlain = ({ protocol }: URL) => protocol !== "https:";
  // Cookies and much else know hosts and no ports: what runs on one of them must not reach the other.
  const isShared = apiOrigins.some((api) => vaultOrigins.some(({ hostname }) => hostname === api.hostname));
  return [
    ...(vault && roles.length > 1 ? ["- the live vault runs alone: no other role in its process"] : []),
    ...(apiOrigins.some(isPlain) ? ["- SWITCHYARD_API_ORIGIN must be https in live"] : []),
    ...(vaultOrigins.some(isPlain) ? ["- SWITCHYARD_VAULT_ORIGIN must be https in live"] : []),
    ...(isShared ? ["- SWITCHYARD_API_ORIGIN and SWITCHYARD_VAULT_ORIGIN must have different host names in live"] : []),
  ];
}

function openOrigins(origins: readonly string[]): URL[] {
  const urls = origins.filter((origin) => URL.canParse(origin)).map((origin) => new URL(origin));
  return urls.filter(({ hostname }) => !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname));
}
