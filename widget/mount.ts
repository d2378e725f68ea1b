/** Switchyard.mount: puts the widget into a page and returns its controls. */

import type { CheckoutResult } from "./checkout.ts";
import { createForm } from "./form.ts";
import { inTime, type LazyParts } from "./lazy-parts.ts";
import { translationFor, usableLocale } from "./locale.ts";
import { texts as english } from "./locales/en.ts";
import {
  type CheckedSession,
  checkOptions,
  checkSession,
  type MountOptions,
  type SessionOptions,
  WrongOptionError,
} from "./options.ts";
import { Payment } from "./payment.ts";
import type { Texts } from "./texts.ts";

/** A widget in the page, as the page may use it. */
export type MountedWidget = {
  /**
   * Resolves when the customer can pay; rejects, after onError, if the form or the service cannot be reached. The
   * customer is then offered a retry, which replaces this promise.
   */
  readonly ready: Promise<void>;
  /** True while the card is in transit or its outcome is unknown. */
  readonly running: boolean;
  /** Pays. While a payment runs every call returns the same promise, which never rejects. */
  submit(): Promise<CheckoutResult>;
  /** Swaps in a fresh session, for another payment after a decline. Throws while a payment runs. */
  update(session: SessionOptions): Promise<void>;
  /** Focuses the card form. */
  focus(): void;
  /**
   * Removes the widget from the page; no callback is called afterwards. A submitted payment continues at the service.
   */
  unmount(): void;
};

/** Puts the payment form into the page; throws if an option is wrong, before anything is sent. */
export type Mount = (options: MountOptions) => MountedWidget;

// One payment form per element: two would submit one session from two cards.
const occupied = new WeakSet<Element>();

/** Creates the mount function for one way of loading the later parts. */
export function createMount(lazyParts: LazyParts): Mount {
  return (options) => {
    const { container, apiBase, session: first, appearance } = checkOptions(options);
    if (occupied.has(container))
      throw new WrongOptionError("container", "already holds a widget; unmount that one first.");
    occupied.add(container);

    const locale = options.locale ?? usableLocale([document.documentElement.lang || navigator.language]);
    const form = createForm({
      container,
      locale,
      appearance,
      submitButton: options.submitButton ?? true,
      onPay: () => void payment.submit(),
      onRetry() {
        open(session);
        payment.focus();
      },
    });
    const shared = { apiBase, locale, options, form, texts: loadTexts(lazyParts, locale), lazyParts };
    let session = first;
    let payment = new Payment({ ...shared, session });
    let mounted = true;
    const open = (next: CheckedSession) => {
      session = next;
      payment.close();
      form.reset();
      payment = new Payment({ ...shared, session });
    };

    return {
      get ready() {
        return payment.ready;
      },
      get running() {
        return payment.running;
      },
      submit: () => payment.submit(),
      update(fresh) {
        const next = checkSession(fresh);
        if (!mounted) throw new Error("Switchyard: update() comes after unmount().");
        if (payment.running) throw new Error("Switchyard: update() has to wait until the running payment has ended.");
        // An outcome is reported once.
        if (payment.ended && next.sessionId === session.sessionId) {
          throw new WrongOptionError("sessionId", "is of the session that has ended; create a fresh one.");
        }
        open(next);
        return payment.ready;
      },
      focus: () => payment.focus(),
      unmount() {
        // A second call must not remove what was mounted there since.
        if (!mounted) return;
        mounted = false;
        payment.close();
        form.remove();
        occupied.delete(container);
      },
    };
  };
}

/** Loads the customer's language; English if there is no translation or it cannot be loaded. */
async function loadTexts(lazyParts: LazyParts, locale: string): Promise<Texts> {
  const translation = translationFor(locale);
  if (!translation) return english;
  try {
    return (await inTime(lazyParts.loadTranslation(translation))).texts;
  } catch {
    return english;
  }
}
