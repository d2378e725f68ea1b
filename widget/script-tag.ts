/** The entry of `<script src="…/widget/v1/widget.js">`: sets `Switchyard.mount`. */

import { createMount, type Mount } from "./mount.ts";

declare global {
  /** Names of the files beside widget.js, by part; written into the bundle by bundle.ts. */
  const WIDGET_CHUNKS: Readonly<Record<string, string>>;
  var Switchyard: { mount: Mount };
}

// A script of another origin has no base address for import(), and currentScript is gone after this run.
const scriptUrl = (document.currentScript as HTMLScriptElement).src;
const load = (part: string, failures = 0) => {
  const address = new URL(WIDGET_CHUNKS[part]!, scriptUrl);
  // After a failed load, browsers refuse a module's address for the life of the page (Chromium since 150 too), so a
  // retry needs another address. If the page names the part, its import map has pinned it by a digest, which no other
  // address has.
  if (failures > 0 && !document.documentElement.innerHTML.includes(WIDGET_CHUNKS[part]!))
    address.search = `${failures}`;
  return import(address.href);
};

globalThis.Switchyard = {
  mount: createMount({
    loadSessionApi: (failures) =>
      Promise.all([load("session-api", failures), load("payment-part", failures)]).then((parts) =>
        Object.assign({}, ...parts),
      ),
    loadAction: (failures) => load("action", failures),
    loadCards: (failures) => load("cards", failures),
    loadTranslations: () => load("translations"),
    loadAppearance: () => load("appearance"),
    loadWallets: () => load("wallets"),
  }),
};
