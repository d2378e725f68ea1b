/** What the widget loads after its first paint. The script tag and the ES module find these files in different ways. */

import type { ApiAnswer, SessionApi } from "./answers.ts";
import type { Translation } from "./locale.ts";
import { texts as english } from "./locales/en.ts";
import type { SessionAccess } from "./session-api.ts";
import type { Texts } from "./texts.ts";

/** The part that speaks with the service. */
export type SessionPart = typeof import("./session-api.ts");

/** How the parts that come later are fetched. */
export type LazyParts = {
  /** `failures` is how often this page has lost that part: an engine may remember each loss by the part's address. */
  loadSessionApi(failures: number): Promise<SessionPart>;
  loadTranslation(translation: Translation): Promise<{ texts: Texts }>;
};

// A slow mobile line brings the largest part in two seconds, the slowest there are all parts in ten; one that is silent
// for this long is asked anew.
const loadLimitMs = 20_000;

/** Settles as the promise does, or rejects when it has not in the time that a part may take. */
export function inTime<Part>(part: Promise<Part>): Promise<Part> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(reject, loadLimitMs);
    part.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

let failures = 0;

/**
 * The session's RPCs, whose code is fetched once the form has painted, and handed to `onLoad`. A fetch that failed or
 * was not in time is tried again by the next call.
 */
export function lateSessionApi(
  parts: LazyParts,
  access: SessionAccess,
  onLoad: (part: SessionPart) => void,
): SessionApi {
  const painted = nextPaint();
  let loading: Promise<SessionApi | undefined> | undefined;
  const load = () => {
    loading ??= painted
      .then(() => inTime(parts.loadSessionApi(failures)))
      .then(
        (part) => {
          Object.assign(english.declines, part.englishDeclines);
          onLoad(part);
          return part.connectSession(access);
        },
        () => {
          failures += 1;
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
