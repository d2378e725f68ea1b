/** The ES module `@switchyard/widget`: the script tag's mount with types, without side effects on import. */

import { createMount, type Mount } from "./mount.ts";

export type { WidgetError } from "./answers.ts";
export type { CheckoutResult } from "./checkout.ts";
export type { Mount, MountedWidget } from "./mount.ts";
export type { Appearance, MountOptions, SessionOptions, VaultConfiguration } from "./options.ts";

/** Puts the payment form into the page, like `Switchyard.mount` of the script tag. */
export const mount: Mount = /* @__PURE__ */ createMount({
  loadSessionApi: async () => {
    const parts = [import("./session-api.ts"), import("./payment-part.ts")] as const;
    const [api, payment] = await Promise.all(parts);
    return { ...api, ...payment };
  },
  loadAction: () => import("./action.ts"),
  loadCards: () => import("./cards.ts"),
  loadWallets: () => import("./wallets.ts"),
  loadTranslations: () => import("./translations.ts"),
  loadAppearance: () => import("./appearance.ts"),
});
