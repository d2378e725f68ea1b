/**
 * The buttons of Apple Pay and Google Pay above the card form. This is a separate part, for sessions whose merchant has
 * a wallet. The encrypted token goes to the vault by the card frame; the page passes it on unread.
 */

import type { CardAnswer, CheckoutView } from "./answers.ts";
import type { CheckoutResult } from "./checkout.ts";
import type { Form } from "./form.ts";
import type { CheckedSession } from "./options.ts";
import type { CardFrame } from "./vault-sdk/sdk.ts";
import { type Offer, type Sheet, type Shown, type Wallet, wallets } from "./wallet-sheets.ts";
import { walletsStyle } from "./wallets-style.ts";
import { english, type WalletsTexts } from "./wallets-texts.ts";

/** Turns what a wallet gives into the vault's token, in place of the card form. */
export type WalletPress = (
  frame: Pick<CardFrame, "sendWallet">,
  payment: { readonly session: CheckedSession },
) => Promise<CardAnswer>;

/** The buttons of one widget, from its mount on. */
export type WalletButtons = {
  /** Shows what the service offers for a session, if the frame's vault takes wallets. */
  show(view: CheckoutView, frame: Pick<CardFrame, "sendWallet">): void;
};

type Parts = {
  readonly form: Form;
  /** The page's choice, in its order. */
  readonly names: readonly string[];
  readonly locale: string;
  readonly apiBase: string;
  readonly pay: (press: WalletPress) => Promise<CheckoutResult>;
};

// The elements have no names, because the call is in the first load.
type Given = [Form, readonly string[], locale: string, apiBase: string, Parts["pay"]];

// The service lets a submission wait for the same time.
const outcomeWithinMs = 20_000;
// Apple's answer may take the service 5 s.
const startWithinMs = 8_000;

export function openWallets(...[form, names, locale, apiBase, pay]: Given): WalletButtons {
  return new Buttons({ form, names, locale, apiBase, pay });
}

const payButtonOf = (place: HTMLElement) => place.parentNode!.querySelector<HTMLButtonElement>(".pay")!;
const cannotPress = ({ ariaBusy, disabled }: HTMLButtonElement) => ariaBusy === "true" || disabled;

class Buttons implements WalletButtons {
  readonly #parts: Parts;
  readonly #texts;
  /** The service's current offers. */
  #shown: readonly Shown[] = [];
  #drawn = "";

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#texts = loadWalletsTexts(parts.locale);
    parts.form.addStyle(walletsStyle);
  }

  show(view: CheckoutView, { sendWallet }: Pick<CardFrame, "sendWallet">): void {
    const { wallets: offers = [], merchantName, leftMs } = view;
    // The buttons of a session that has ended become those of the next one; after unmount() nothing is loaded.
    if ((leftMs === undefined && this.#drawn) || !this.#parts.form.wallets.isConnected) return;
    this.#shown = this.#parts.names.flatMap((name) => {
      const offer = sendWallet ? offers.find(({ type }) => type === name) : undefined;
      return offer ? [{ offer, merchantName }] : [];
    });
    const drawn = JSON.stringify(this.#shown.map(({ offer }) => [offer.type, offer.google?.environment]));
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    void this.#draw(this.#shown);
  }

  /** Draws the buttons at once, so that none moves another. */
  async #draw(shown: readonly Shown[]): Promise<void> {
    const { form, locale } = this.#parts;
    const place = form.wallets;
    const root = place.getRootNode();
    const asked = this.#drawn;
    const [[or, heading], ...ready] = await Promise.all([
      this.#texts,
      ...shown.map((one) => wallets[one.offer.type]!.isReady(one)),
    ]);
    if (asked !== this.#drawn) return;
    const drawn = shown.filter((_, index) => ready[index]);
    const line = document.createElement("p");
    line.textContent = drawn.length > 0 ? or : heading;
    if (drawn.length === 0) return place.replaceChildren(line);
    const row = document.createElement("div");
    row.className = "row";
    row.role = "group";
    const button = payButtonOf(place);
    const follow = () => (row.ariaDisabled = `${cannotPress(button)}`);
    new MutationObserver(follow).observe(button, { attributeFilter: ["aria-busy", "disabled"] });
    follow();
    for (const one of drawn) {
      const { type } = one.offer;
      const slot = document.createElement("span");
      slot.append(wallets[type]!.button(one, { root, locale, press: () => this.#press(type, slot) }));
      row.append(slot);
    }
    place.replaceChildren(row, line);
  }

  #find(type: string): Shown | undefined {
    return this.#shown.find(({ offer }) => offer.type === type);
  }

  #press(type: string, slot: HTMLElement): void {
    const { form, pay } = this.#parts;
    const shown = this.#find(type);
    // Like the pay button, this one keeps the focus while it cannot be pressed.
    if (!shown || cannotPress(payButtonOf(form.wallets))) return;
    let open!: (session: CheckedSession) => void;
    const opened = new Promise<CheckedSession>((resolve) => (open = resolve));
    // This comes before anything else: a browser opens a sheet only inside the press.
    const sheet = openSheet(type, shown, async (validationUrl) => this.#start(await opened, validationUrl));
    sheet.token.catch(() => {});
    let isUsed = false;
    const paying = pay(async (frame, { session }) => {
      open(session);
      if (isUsed) return refused({ code: "wallet_token_used", message: "The wallet's token was used before." });
      isUsed = true;
      try {
        const token = await sheet.token;
        // After a decline the page provides another session, which has to be of the same order and amount.
        if (!isSame(this.#find(type)?.offer, shown.offer)) return refused(otherOrder);
        const card = await frame.sendWallet!(session.vault.sdkAuthorization, type, token);
        return { kind: "token", token: card.token };
      } catch (error) {
        const { code = "wallet_unavailable", message = "The vault did not take the wallet's token." } = Object(error);
        return refused({ code, message });
      }
    });
    void this.#end(paying, sheet, slot);
  }

  /** Closes the sheet with the outcome, or without one if that takes long. */
  async #end(paying: Promise<CheckoutResult>, sheet: Sheet, slot: HTMLElement): Promise<void> {
    const place = this.#parts.form.wallets;
    const { host } = place.getRootNode() as ShadowRoot;
    // unmount() may remove the buttons, and the first load does not pass that on.
    const removal = new MutationObserver(() => place.isConnected || sheet.close("unknown"));
    removal.observe(host.parentNode!, { childList: true });
    const late = sheet.token.then(
      () => new Promise<undefined>((resolve) => setTimeout(resolve, outcomeWithinMs)),
      () => paying,
    );
    const result = await Promise.race([paying, late]);
    const isPaid = result?.kind === "succeeded";
    const isRefused = result?.kind === "declined" || result?.kind === "failed";
    sheet.close(isPaid ? "paid" : isRefused ? "refused" : "unknown");
    const ended = await paying;
    removal.disconnect();
    if (ended.kind !== "failed") return;
    if (/^(wallet_(?!cancelled)|test_card)/.test(ended.error.code)) {
      const [, , text] = await this.#texts;
      this.#parts.form.say({ kind: "error", text });
    }
    slot.querySelector("button")?.focus();
  }

  async #start({ sessionId, clientSecret }: CheckedSession, validationUrl: string): Promise<unknown> {
    const answer = await fetch(`${this.#parts.apiBase}/payments.v1.CheckoutService/StartWalletSession`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${clientSecret}`,
        "content-type": "application/json",
        "connect-protocol-version": "1",
      },
      body: JSON.stringify({ sessionId, validationUrl }),
      signal: AbortSignal.timeout(startWithinMs),
    });
    const { merchantSession } = await answer.json();
    return JSON.parse(merchantSession);
  }
}

/** Opens a sheet; one that the browser refuses to open fails as any other. */
function openSheet(type: string, ...parts: Parameters<Wallet["open"]>): Sheet {
  try {
    return wallets[type]!.open(...parts);
  } catch (error) {
    console.warn(`Switchyard: the sheet did not open: ${error}`);
    return { token: Promise.reject(), close() {} };
  }
}

const otherOrder = {
  code: "session_unavailable",
  message: "getSession() returned a session of another order or amount than the sheet's.",
};

function isSame(now: Offer | undefined, then: Offer): boolean {
  return now?.binding === then.binding && now.amount === then.amount && now.currency === then.currency;
}

function refused(error: { readonly code: string; readonly message: string }): CardAnswer {
  return { kind: "refused", error };
}

/** Loads the texts for a BCP 47 tag; English if there are none, or they cannot be loaded. Never rejects. */
async function loadWalletsTexts(locale: string): Promise<WalletsTexts> {
  if (/^en\b/i.test(locale)) return english;
  try {
    return (await import("./translated-wallets.ts")).walletsTextsFor(locale) ?? english;
  } catch {
    return english;
  }
}
