/**
 * The parts that the widget loads after its first paint. The script tag and the ES module locate these files in
 * different ways.
 */

import { texts as english } from "./locales/en.ts";

/** The part that pays: calls of the service, and what follows from them. */
export type SessionPart = typeof import("./session-api.ts") & typeof import("./payment-part.ts");

export type ActionPart = typeof import("./action.ts");

/** The part with the customer's stored cards. */
export type CardsPart = typeof import("./cards.ts");

/** The part with the buttons of wallets. */
export type WalletsPart = typeof import("./wallets.ts");

/** The part that knows the rules for the look. */
export type AppearancePart = typeof import("./appearance.ts");

/** The part that knows the translations. */
export type TranslationsPart = typeof import("./translations.ts");

/** The loaders of the later parts. */
export type LazyParts = {
  /**
   * `failures` is the number of times this page failed to load that part: an engine may remember each failure by the
   * part's address.
   */
  loadSessionApi(failures: number): Promise<SessionPart>;
  loadAction(failures: number): Promise<ActionPart>;
  /** `failures` as above. */
  loadCards(failures: number): Promise<CardsPart>;
  loadWallets(): Promise<WalletsPart>;
  loadTranslations(): Promise<TranslationsPart>;
  loadAppearance(): Promise<AppearancePart>;
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

/** Loads the part that pays once the form has painted; undefined if that failed, until the next call. */
export async function loadSessionPart(parts: LazyParts): Promise<SessionPart | undefined> {
  try {
    const part = await inTime(parts.loadSessionApi(failures));
    Object.assign(english, part.englishOutcomes);
    return part;
  } catch {
    failures += 1;
    return undefined;
  }
}

// The timer is for a hidden tab, which paints nothing and must follow its payment all the same.
const hiddenTabWaitMs = 500;

/** Resolves when the page has painted. */
export function nextPaint(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, hiddenTabWaitMs);
  });
}
