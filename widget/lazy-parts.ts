/** What the widget loads after its first paint. The script tag and the ES module find these files in different ways. */

import type { ApiAnswer, SessionApi } from "./answers.ts";
import type { Translation } from "./locale.ts";
import { texts as english } from "./locales/en.ts";
import type { SessionAccess } from "./session-api.ts";
import type { Texts } from "./texts.ts";

/** How the parts that come later are fetched. */
export type LazyParts = {
  loadSessionApi(): Promise<typeof import("./session-api.ts")>;
  loadTranslation(translation: Translation): Promise<{ texts: Texts }>;
};

/** The session's RPCs, whose code is fetched once the form has painted. A failed fetch is tried again by the next call. */
export function lateSessionApi(parts: LazyParts, access: SessionAccess): SessionApi {
  const painted = nextPaint();
  let loading: Promise<SessionApi | undefined> | undefined;
  const load = () => {
    loading ??= painted
      .then(() => parts.loadSessionApi())
      .then(
        (chunk) => {
          Object.assign(english.declines, chunk.englishDeclines);
          return chunk.connectSession(access);
        },
        () => {
          loading = undefined;
          return undefined;
        },
      );
    return loading;
  };
  const unreachable: ApiAnswer = { kind: "unreachable" };
  return {
    getCheckout: async () => (await load())?.getCheckout() ?? unreachable,
    submitPayment: async (vaultToken) => (await load())?.submitPayment(vaultToken) ?? unreachable,
  };
}

// The timer is for a hidden tab, which paints nothing and must follow its payment all the same.
const hiddenTabWaitMs = 500;

function nextPaint(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, hiddenTabWaitMs);
  });
}
