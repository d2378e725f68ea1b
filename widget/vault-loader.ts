/**
 * Loads the vault's script from the vault's own origin, once per address. The widget uses only the global that it sets.
 */

import { inTime } from "./lazy-parts.ts";
import type { SwitchyardVault } from "./vault-sdk/sdk.ts";

const loads = new Map<string, Promise<SwitchyardVault>>();

/** Loads the vault's script. A load that failed or timed out is forgotten, so that the next call retries. */
export function loadVaultSdk(sdkUrl: URL): Promise<SwitchyardVault> {
  const known = loads.get(sdkUrl.href);
  if (known) return known;
  const script = document.createElement("script");
  const load = inTime(appendScript(script, sdkUrl.href));
  loads.set(sdkUrl.href, load);
  load.catch(() => {
    loads.delete(sdkUrl.href);
    script.remove();
  });
  return load;
}

function appendScript(script: HTMLScriptElement, address: string): Promise<SwitchyardVault> {
  return new Promise((resolve, reject) => {
    script.src = trusted(address);
    script.async = true;
    // The vault does not need to know which page of the shop this is.
    script.referrerPolicy = "origin";
    script.onload = () => {
      if (globalThis.SwitchyardVault) resolve(globalThis.SwitchyardVault);
      else reject();
    };
    script.onerror = reject;
    document.head.append(script);
  });
}

/** The part of Trusted Types that is used here; browsers without it take any text. */
type ScriptAddresses = { createScriptURL(address: string): string };
type TrustedTypes = { createPolicy(name: string, rules: ScriptAddresses): ScriptAddresses };

let policy: ScriptAddresses | undefined;

/**
 * Wraps the address for a page that requires Trusted Types: by the policy `switchyard`, used for the vault's script
 * only.
 */
function trusted(address: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  try {
    policy ??= trustedTypes?.createPolicy("switchyard", { createScriptURL: (checked) => checked });
  } catch {
    // The page allows no policy of this name, or has one already: then the browser decides about the plain text.
  }
  return policy?.createScriptURL(address) ?? address;
}
