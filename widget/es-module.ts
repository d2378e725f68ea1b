/** The ES module `@switchyard/widget`: the script tag's mount with types, without side effects on import. */

import { createMount, type Mount } from "./mount.ts";
import { unreachable } from "./unreachable.ts";

export type { WidgetError } from "./answers.ts";
export type { CheckoutResult } from "./checkout.ts";
export type { Mount, MountedWidget } from "./mount.ts";
export type { Appearance, MountOptions, SessionOptions, VaultConfiguration } from "./options.ts";

/** Puts the payment form into the page, like `Switchyard.mount` of the script tag. */
export const mount: Mount = /* @__PURE__ */ createMount({
  loadSessionApi: () => import("./session-api.ts"),
  loadAction: () => import("./action.ts"),
  loadTranslation: (translation) => {
    switch (translation) {
      case "de":
        return import("./locales/de.ts");
      case "fr":
        return import("./locales/fr.ts");
      case "es":
        return import("./locales/es.ts");
      case "it":
        return import("./locales/it.ts");
      case "pt":
        return import("./locales/pt.ts");
      case "ja":
        return import("./locales/ja.ts");
      case "ar":
        return import("./locales/ar.ts");
      case "he":
        return import("./locales/he.ts");
      default:
        return unreachable(translation);
    }
  },
});
