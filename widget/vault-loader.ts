/** Loads the vault's script from the vault's own origin, once per address. What it sets is all the widget sees of it. */

export type CardFrameOptions = {
  readonly container: HTMLElement;
  readonly vaultOrigin: string;
  readonly sdkUrl: string;
  readonly framePolicy: string | undefined;
  readonly locale: string;
  readonly appearance: { readonly theme?: string; readonly variables?: Readonly<Record<string, string>> };
  readonly onChange: (change: Readonly<Record<string, unknown>>) => void;
  /** Enter in a field of the card. */
  readonly onSubmitRequest: () => void;
};

export type CardFrame = {
  /** Rejects when the frame cannot be loaded or does not answer. */
  readonly ready: Promise<void>;
  /** Rejects when the card is incomplete or the vault does not take it. */
  tokenize(sdkAuthorization: string): Promise<{ token: string; brand: string; last4: string }>;
  focus(): void;
  setDisabled(disabled: boolean): void;
  destroy(): void;
};

export type VaultSdk = { mountCardFrame(options: CardFrameOptions): CardFrame };

const loads = new Map<string, Promise<VaultSdk>>();

/** The vault's script. A failed load is forgotten, so that the next call tries again. */
export function loadVaultSdk(sdkUrl: URL): Promise<VaultSdk> {
  const known = loads.get(sdkUrl.href);
  if (known) return known;
  const load = appendScript(sdkUrl.href);
  loads.set(sdkUrl.href, load);
  load.catch(() => loads.delete(sdkUrl.href));
  return load;
}

function appendScript(address: string): Promise<VaultSdk> {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.async = true;
    // The vault has no use for knowing which page of the shop this is.
    script.referrerPolicy = "origin";
    script.onload = () => {
      const { SwitchyardVault } = globalThis as { SwitchyardVault?: VaultSdk };
      if (SwitchyardVault) resolve(SwitchyardVault);
      else reject(new Error("The script at vault.sdkUrl is not the vault's."));
    };
    script.onerror = () => {
      script.remove();
      reject(new Error("The vault's script cannot be loaded."));
    };
    document.head.append(script);
  });
}
