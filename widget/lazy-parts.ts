/**
 * The parts that the widget loads after its first paint. The script tag and the ES module locate these files in
 * different ways.
 */

import type { ApiAnswer, SessionApi } from "./answers.ts";
import type { Translation } from "./locale.ts";
import { texts as english } from "./locales/en.ts";
import type { SessionAccess } from "./session-api.ts";
import type { Texts } from "./texts.ts";

/** The part that calls the service. */
export type SessionPart = typeof import("./session-api.ts");

/** The part that shows an action. */
export type ActionPart = typeof import("./action.ts");

/** The loaders of the later parts. */
export type LazyParts = {
  /**
   * `failures` is the number of times this page failed to load that part: an engine may remember each failure by the
   * part's address.
   */
  loadSessionApi(failures: number): Promise<SessionPart>;
  loadAction(failures: number): Promise<ActionPart>;
  loadTranslation(translation: Translation): Promise<{ texts: Texts }>;
};

// A slow mobile line loads the largest part in two seconds, the slowest loads all parts in ten; a part that takes
// longer than this is requested again.
const loadLimitMs = 20_000;

/** Settles as the promise does, or rejects after the time that a part may take. */
export function inTime<Part>(part: Promise<Part>): Promise<Part> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(reject, loadLimitMs);
    part.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

let failures = 0;
let actionFailures = 0;

/** Loads the part that shows an action; undefined if that failed, until the next call. */
export async function loadActionPart(parts: LazyParts): Promise<ActionPart | undefined> {
  try {
    const part = await inTime(parts.loadAction(actionFailures));
    Object.assign(english, { action: part.englishAction });
    return part;
  } catch {
    actionFailures += 1;
    return undefined;
  }
}

/**
 * Loads the session's RPCs once the form has painted, and passes them to `onLoad`. A load that failed or timed out is
 * retried by the next call.
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
          Object.assign(english, part.englishOutcomes);
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
