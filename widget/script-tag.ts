/** What `<script src="…/widget/v1/widget.js">` runs: sets `Switchyard.mount`. */

import { createMount, type Mount } from "./mount.ts";

declare global {
  /** Names of the files beside widget.js, by part; written into the bundle by bundle.ts. */
  const WIDGET_CHUNKS: Readonly<Record<string, string>>;
  var Switchyard: { mount: Mount };
}

// A script of another origin has no base address of its own for import(), and currentScript is gone after this run.
const scriptUrl = (document.currentScript as HTMLScriptElement).src;
const load = (part: string) => import(new URL(WIDGET_CHUNKS[part]!, scriptUrl).href);

globalThis.Switchyard = {
  mount: createMount({
    loadSessionApi: () => load("session-api"),
    loadTranslation: (translation) => load(translation),
  }),
};
