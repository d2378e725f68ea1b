/** Switchyard.mount: puts the widget into a page and returns its controls. */

import type { WidgetError } from "./answers.ts";
import type { CheckoutResult } from "./checkout.ts";
import { createForm } from "./form.ts";
import { inTime, type LazyParts } from "./lazy-parts.ts";
import { usableLocale } from "./locale.ts";
import { texts as english } from "./locales/en.ts";
import {
  type Appearance,
  type CheckedSession,
  checkOptions,
  checkSession,
  type MountOptions,
  type SessionOptions,
  WrongOptionError,
} from "./options.ts";
import { Payment } from "./payment.ts";
import type { Texts } from "./texts.ts";
import type { WalletPress } from "./wallets.ts";

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

// An element has one payment form: two would submit one session from two cards.
const occupied = new WeakSet<Element>();

/** Creates the mount function for one way of loading the later parts. */
export function createMount(lazyParts: LazyParts): Mount {
  return (options) => {
    const { container, apiBase, session: first, appearance, wallets: names } = checkOptions(options);
    if (occupied.has(container))
      throw new WrongOptionError("container", "already holds a widget; unmount that one first.");
    occupied.add(container);

    const locale = options.locale ?? usableLocale([document.documentElement.lang, navigator.language]);
    const form = createForm({
      container,
      locale,
      appearance,
      submitButton: options.submitButton ?? true,
      storedCards: first.vault.storedCards,
      wallets: names[0] ? "wallets" : "",
      rows: 3 + Number(options.fields?.postalCode === true) - Number(options.fields?.holderName === false),
      onPay: () => void pay(),
      onRetry() {
        reopen();
        payment.focus();
      },
    });
    if (options.appearance !== undefined) void checkAppearance(lazyParts, options.appearance, form.leaveOut);
    let mounted = true;
    let renewing: Promise<CheckoutResult> | undefined;
    /** Pays, after a decline in a fresh session. */
    const pay = (press?: WalletPress) => {
      if (!payment.needsFresh) return payment.submit(press);
      renewing ??= renew(press).finally(() => (renewing = undefined));
      return renewing;
    };
    /** Starts over, with a fresh session if this one is of no further use. */
    const reopen = () => {
      if (!payment.needsFresh) return open(session);
      form.reset();
      void pay();
    };
    const shared = {
      apiBase,
      locale,
      options,
      form,
      lazyParts,
      onReopen: reopen,
      onPay: () => void pay(),
      texts: loadTexts(lazyParts, locale),
      wallets: names[0]
        ? lazyParts.loadWallets().then(
            (part) => part.openWallets(form, names, locale, apiBase, pay),
            () => undefined,
          )
        : undefined,
    };
    let session = first;
    let payment = new Payment({ ...shared, session });
    const open = (next: CheckedSession) => {
      session = next;
      payment.close();
      form.reset();
      payment = new Payment({ ...shared, session });
    };
    const renew = async (press?: WalletPress): Promise<CheckoutResult> => {
      const over = payment;
      over.showRenewal();
      const fresh = await getFresh(options, session);
      if (!mounted) return { kind: "unmounted" };
      if ("code" in fresh) {
        over.showRenewal(fresh);
        return { kind: "failed", error: fresh };
      }
      form.setBusy(false);
      const frame = fresh.vault.sdkUrl.href === session.vault.sdkUrl.href ? over.release() : undefined;
      if (frame) {
        session = fresh;
        payment = new Payment({ ...shared, session, frame });
        return payment.submit(press);
      }
      // The card has to be entered again.
      open(fresh);
      return { kind: "failed", error: { code: "invalid_card", message: "The card form is new." } };
    };

    return {
      get ready() {
        return payment.ready;
      },
      get running() {
        return renewing !== undefined || payment.running;
      },
      submit: () => pay(),
      update(fresh) {
        const next = checkSession(fresh);
        if (!mounted) throw new Error("Switchyard: update() comes after unmount().");
        if (renewing || payment.running)
          throw new Error("Switchyard: update() has to wait until the running payment has ended.");
        // An outcome is reported once.
        if (payment.ended && next.sessionId === session.sessionId) {
          throw new WrongOptionError("sessionId", "is of the session that has ended; create a fresh one.");
        }
        open(next);
        return payment.ready;
      },
      focus: () => payment.focus(),
      unmount() {
        // A second call must not remove a form that was mounted there since.
        if (!mounted) return;
        mounted = false;
        payment.close();
        form.remove();
        occupied.delete(container);
      },
    };
  };
}

/** Returns the page's fresh session; an error if the page has none, returns the ended one, or takes too long. */
async function getFresh(options: MountOptions, { sessionId }: CheckedSession): Promise<CheckedSession | WidgetError> {
  let message = "getSession() returned the session that has ended.";
  try {
    const fresh = checkSession(await inTime(Promise.resolve(options.getSession!())));
    if (fresh.sessionId !== sessionId) return fresh;
  } catch (error) {
    message = `getSession() provided no session. ${error ?? "It took too long."}`;
  }
  return { code: "session_unavailable", message };
}

/** Warns the page's developer of a mistake in its look. A customer can pay without the rules. */
async function checkAppearance(lazyParts: LazyParts, appearance: Appearance, leaveOut: (name: string) => void) {
  try {
    (await lazyParts.loadAppearance()).checkAppearance(appearance, leaveOut);
  } catch {
    // The part cannot be loaded.
  }
}

/** Loads the customer's language; English if there is no translation or it cannot be loaded. */
async function loadTexts(lazyParts: LazyParts, locale: string): Promise<Texts> {
  if (/^en\b/i.test(locale)) return english;
  try {
    const load = lazyParts.loadTranslations().then((part) => part.loadTranslation(locale));
    return (await inTime(load)) ?? english;
  } catch {
    return english;
  }
}
