/**
 * Shows an action of customer authentication in the form's place: the bank's page in a frame, or a button that opens it
 * in a window. Loaded when the first action appears. It decides nothing: the session says when the action is over.
 */

import { type ActionCalls, type ActionPages, connectActions } from "./action-calls.ts";
import { actionStyle } from "./action-style.ts";
import type { NextAction } from "./answers.ts";
import { connectFrame, type FrameLine } from "./frame-line.ts";
import { action as english } from "./locales/en-action.ts";
import type { CheckedSession } from "./options.ts";
import type { ActionTexts } from "./texts.ts";

/** The English texts of this part. */
export const englishAction: ActionTexts = english;

/** The place and the dependencies of a view. */
type ActionParts = {
  readonly place: HTMLElement;
  readonly texts: ActionTexts;
  readonly session: CheckedSession;
  readonly apiBase: string;
  readonly returnTo: string | undefined;
  /** Looks at the session at once. */
  readonly wake: () => void;
  /** Called when an action is shown, and when it is over. */
  readonly onChange: (isShown: boolean) => void;
};

/** The view of a payment's actions; one that is shown repeatedly only notes the time that is left. */
export type ActionView = { show(action: NextAction | undefined): void };

// A redirect is shown at most this often; then the page only waits (the service refuses its tickets).
const shownMax = 3;
const soonMs = 120_000;
// The container's width from which the bank's page has its larger size and a border (EMV 3DS 2.2, window size 03).
const wideFrom = 502;

// Actions that this page has shown: a form that is mounted again continues without asking.
const shownHere = new Set<string>();

/** Creates the view; it is empty until it shows an action. */
export function createActionView(parts: ActionParts): ActionView {
  const { place, onChange } = parts;
  const root = place.getRootNode() as ShadowRoot;
  const calls = connectActions({ ...parts.session, apiBase: parts.apiBase });
  let shown: { readonly id: string; readonly action: ShownAction } | undefined;
  let check: HTMLElement | undefined;
  const end = () => {
    if (!shown) return;
    const hadFocus = place.contains(root.activeElement);
    shown.action.close();
    shown = undefined;
    place.replaceChildren();
    root.host.removeAttribute("data-action");
    onChange(false);
    if (hadFocus) root.querySelector<HTMLElement>(".pay")?.focus();
  };
  return {
    show(action) {
      if (action?.isHidden) {
        // Without this check, or its answer, the bank authenticates all the same.
        if (check) return;
        const container = element("div");
        check = container;
        container.hidden = true;
        place.after(container);
        void calls.open(action.authenticationId).then((pages) => {
          if (pages) return connectFrame({ ...frameOf(parts, pages), container, onAnswered: parts.wake });
          container.remove();
          // The session's next status tries again.
          check = undefined;
        });
        return;
      }
      check?.remove();
      if (shown?.id !== action?.authenticationId) end();
      if (!action) return;
      if (!shown) {
        addStyle(root);
        root.host.setAttribute("data-action", "");
        shown = { id: action.authenticationId, action: new ShownAction(parts, calls, action) };
        onChange(true);
      }
      shown.action.note(action);
    },
  };
}

/** Returns the frame's address, title and ticket, and the page around it, which the shop's policy names. */
function frameOf({ session, texts }: ActionParts, { frameUrl, ticket }: ActionPages) {
  const { sdkUrl, framePolicy } = session.vault;
  // An external vault has no page for this.
  const around = framePolicy && `${sdkUrl.origin}/authentication?p=${encodeURIComponent(framePolicy)}`;
  return { around, frameUrl, ticket, title: texts.heading };
}

const sheets = new WeakSet<ShadowRoot>();

function addStyle(root: ShadowRoot): void {
  if (sheets.has(root)) return;
  sheets.add(root);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(actionStyle);
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}

/** An action, from its first view to its end. */
class ShownAction {
  readonly #parts: ActionParts;
  readonly #calls: ActionCalls;
  readonly #text = element("p");
  readonly #bank = element("div");
  readonly #status = element("p");
  readonly #go: HTMLButtonElement;
  readonly #cancel: HTMLButtonElement;
  #action: NextAction;
  #shownCount: number;
  #line: FrameLine | undefined;
  /** True once a frame was tried in vain. */
  #isFrameRefused = false;
  /** Set while a ticket that no page has used is at hand. */
  #pages: ActionPages | undefined;
  #isOpening = false;
  #isClosed = false;
  #soonTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: ActionParts, calls: ActionCalls, action: NextAction) {
    this.#parts = parts;
    this.#calls = calls;
    this.#action = action;
    this.#shownCount = action.shownCount;
    const { texts, place } = parts;
    const heading = element("h2");
    heading.textContent = texts.heading;
    heading.tabIndex = -1;
    this.#go = button("again", "", () => this.#press());
    this.#go.hidden = true;
    this.#cancel = button("link", texts.cancel, () => void this.#giveUp());
    this.#status.setAttribute("role", "status");
    place.replaceChildren(heading, this.#text, this.#bank, this.#go, this.#cancel, this.#status);
    heading.focus();
    this.#awaitEnd();
    if (action.opened && isReload()) shownHere.add(action.authenticationId);
    if (!action.opened || shownHere.has(action.authenticationId)) void this.#open();
    else this.#offer(texts.elsewhere, texts.continueHere);
  }

  /** Notes the session's latest status of the action. */
  note(action: NextAction): void {
    // The same status again does not tell the remaining time: a newer status was lost.
    if (action !== this.#action) {
      this.#action = action;
      this.#awaitEnd();
    }
    if (action.shownCount > this.#shownCount) {
      this.#shownCount = action.shownCount;
      this.#pages = undefined;
    }
    // A ticket could not be had, or a window has used it: another one lets the customer open the bank's page again.
    const isFrameOpening = this.#line && !this.#line.isShown;
    if (shownHere.has(action.authenticationId) && !this.#pages && !isFrameOpening) void this.#open();
  }

  #awaitEnd(): void {
    clearTimeout(this.#soonTimer);
    this.#soonTimer = setTimeout(() => this.#announceSoon(), this.#action.expiresInSeconds * 1_000 - soonMs);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#soonTimer);
    this.#line?.close();
  }

  /** Gets a ticket, and shows what it allows: the frame, the button, or nothing but the wait. */
  async #open(): Promise<void> {
    const { texts, returnTo } = this.#parts;
    shownHere.add(this.#action.authenticationId);
    if (this.#shownCount >= shownMax) return this.#wait();
    if (this.#isOpening) return;
    this.#isOpening = true;
    const pages = await this.#calls.open(this.#action.authenticationId, returnTo);
    this.#isOpening = false;
    if (this.#isClosed || !pages) return;
    this.#pages = pages;
    if (this.#line) return this.#offer("", texts.newWindow);
    // A page that isolates itself refuses every frame that does not, and so the bank's.
    if (this.#action.isFramed && !crossOriginIsolated && !this.#isFrameRefused) return this.#frame(pages);
    this.#offer(this.#shownCount > 0 ? texts.waiting : texts.inWindow, texts.goToBank);
  }

  #frame(pages: ActionPages): void {
    const { texts, wake, place } = this.#parts;
    const countBefore = this.#shownCount;
    const drop = () => {
      this.#line = undefined;
      this.#isFrameRefused = true;
    };
    this.#text.textContent = "";
    this.#go.hidden = true;
    this.#line = connectFrame({
      ...frameOf(this.#parts, pages),
      container: this.#bank,
      isWide: place.clientWidth >= wideFrom,
      onOpened: () => {
        this.#shownCount = Math.max(this.#shownCount, countBefore + 1);
        this.#pages = undefined;
        void this.#open();
      },
      onAnswered: wake,
      onSilent: () => {
        drop();
        this.#offer(texts.inWindow, texts.goToBank);
      },
      onFailed: () => {
        drop();
        this.#pages = undefined;
        this.#wait();
        wake();
      },
    });
  }

  #press(): void {
    const { returnTo, texts } = this.#parts;
    if (!shownHere.has(this.#action.authenticationId)) return void this.#open();
    const address = this.#pages?.windowUrl;
    if (address === undefined) return;
    // Its own header cuts the window's line to this page; with "noopener" a window that did not open could not be seen.
    if (window.open(address, "_blank")) this.#text.textContent = this.#line ? "" : texts.waiting;
    else if (returnTo !== undefined) location.assign(address);
    else this.#text.textContent = texts.noWindow;
  }

  async #giveUp(): Promise<void> {
    if (this.#cancel.ariaDisabled) return;
    this.#cancel.ariaDisabled = "true";
    await this.#calls.cancel(this.#action.authenticationId);
    this.#cancel.ariaDisabled = null;
    this.#parts.wake();
  }

  /** Offers the button. Below a frame that is shown it is a link. */
  #offer(text: string, label: string): void {
    this.#text.textContent = text;
    this.#go.textContent = label;
    this.#go.className = this.#line ? "link" : "again";
    this.#go.hidden = false;
  }

  /** Announces the end once: the same words again would be announced again. */
  #announceSoon(): void {
    this.#status.textContent ||= this.#parts.texts.soon;
  }

  #wait(): void {
    this.#go.hidden = true;
    if (!this.#line) this.#text.textContent = this.#parts.texts.waiting;
  }
}

/** Reports whether this page was loaded before: it is then the page that showed the action. */
function isReload(): boolean {
  const [entry] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return entry?.type === "reload" || entry?.type === "back_forward";
}

function element<Tag extends keyof HTMLElementTagNameMap>(tag: Tag): HTMLElementTagNameMap[Tag] {
  return document.createElement(tag);
}

function button(className: string, label: string, onPress: () => void): HTMLButtonElement {
  const made = element("button");
  made.type = "button";
  made.className = className;
  made.textContent = label;
  made.addEventListener("click", onPress);
  return made;
}
