/**
 * The stored cards of a session's customer, above the card form: the choice of a card, and whether to store another.
 * This is a separate part, for sessions that name their customer. The payment uses it in place of the vault's frame.
 */

import type { SaveCard } from "./answers.ts";
import { CardList, element, type StoredCard } from "./card-list.ts";
import { cardsStyle } from "./cards-style.ts";
import { type CardsTexts, english, saveTemplate, setUpTemplate } from "./cards-texts.ts";
import type { Form } from "./form.ts";
import type { CheckedSession } from "./options.ts";
import type { CardFrame } from "./vault-sdk/sdk.ts";

/** A card frame that also returns the customer's consent to storing. */
export type PaymentFrame = Omit<CardFrame, "tokenize"> & {
  tokenize(
    sdkAuthorization: string,
    payment: { readonly session: CheckedSession },
  ): Promise<{ readonly token: string; readonly saveCard?: SaveCard | undefined }>;
};

/** The answer of ListStoredCards, in JSON: a member at its default is absent. */
type Listed = {
  readonly storedCards?: readonly StoredCard[];
  readonly securityCodeRequired?: boolean;
  /** Absent if the session stores no card. */
  readonly saving?: { readonly agreementText?: string; readonly isSetUp?: boolean };
};

type Access = {
  readonly apiBase: string;
  readonly session: CheckedSession;
  readonly locale: string;
  readonly form: Form;
};

// A read answers in milliseconds; this is for a network that swallows packets.
const timeoutMs = 8_000;
const triesMax = 2;
const agreementTemplate = "agreement";

/**
 * Loads the customer's cards. Resolves with a function that adds them to the form and to its card frame; without an answer it adds
 * nothing, and the customer pays by entering a card. Never rejects.
 */
export async function openStoredCards(access: Access): Promise<(frame: CardFrame) => PaymentFrame> {
  const loading = loadWording(access.locale);
  for (let tries = 1; tries <= triesMax; tries++) {
    const listed = await call<Listed>(access.apiBase, access.session, "ListStoredCards");
    const wording = await loading;
    if (listed) return (frame) => addStoredCards(access, { ...listed, ...wording }, frame);
  }
  return (frame) => frame;
}

/** The texts, and the language that they are in. */
type Wording = { readonly texts: CardsTexts; readonly language: string };

/** Loads the texts in the customer's language; English if there is no translation or it cannot be loaded. */
async function loadWording(locale: string): Promise<Wording> {
  const inEnglish = { texts: english, language: "en" };
  if (/^en\b/i.test(locale)) return inEnglish;
  try {
    return (await import("./translated-cards.ts")).wordingFor(locale) ?? inEnglish;
  } catch {
    return inEnglish;
  }
}

function addStoredCards(access: Access, listed: Listed & Wording, frame: CardFrame): PaymentFrame {
  const { apiBase, locale, form } = access;
  const { cardContainer } = form;
  const { host } = cardContainer.getRootNode() as ShadowRoot & { host: HTMLElement };
  const { storedCards = [], securityCodeRequired, saving, texts, language } = listed;
  const iframe = cardContainer.querySelector("iframe")!;
  form.addStyle(cardsStyle);
  // The fixed heights keep the page from moving until the customer acts.
  const room = cardContainer.offsetHeight;
  host.style.minHeight = `${host.offsetHeight}px`;
  const release = () => host.style.removeProperty("min-height");

  const box = new SaveBox(texts[3]);
  const terms = element("p", "terms", saving?.agreementText);
  terms.dir = "auto";
  const isSetUp = saving?.isSetUp;
  const isAsked = saving !== undefined && saving.agreementText === undefined && !isSetUp;
  const undress = isSetUp ? dressAsSetUp(form, texts) : () => {};
  cardContainer.append(box.label, terms);
  /** Shows what belongs to the chosen card. */
  const show = (card?: StoredCard) => {
    frame.ask?.(card && (card.brand || "unknown"));
    iframe.hidden = card !== undefined && !securityCodeRequired;
    box.label.hidden = card !== undefined || !isAsked;
  };
  const onChange = () => {
    release();
    show(list?.chosen);
  };
  // An older vault has no form for a security code alone.
  const list = storedCards.length > 0 && frame.ask ? new CardList(storedCards, texts, onChange) : undefined;
  list?.addTo(cardContainer);
  show(list?.chosen);
  list?.fit(cardContainer, room, release);

  const consent = (): SaveCard | undefined => {
    if (terms.textContent) return { template: agreementTemplate, locale };
    if (isSetUp) return { template: setUpTemplate, locale: language };
    return box.isTicked ? { template: saveTemplate, locale: language } : undefined;
  };
  /** Opens the chosen card for the session; takes it out of the list where it cannot be used. */
  const open = async ({ paymentMethodId }: StoredCard, session: CheckedSession) => {
    const used = await call<{ vaultToken?: string }>(apiBase, session, "UseStoredCard", { paymentMethodId });
    if (used?.vaultToken) return used.vaultToken;
    if (used) {
      const isLeft = list?.drop();
      show(list?.chosen);
      if (!isLeft) frame.focus();
    }
    const code = used ? "stored_card_unavailable" : "vault_unavailable";
    throw Object.assign(new Error("The stored card cannot be used."), { code });
  };
  return {
    ...frame,
    async tokenize(sdkAuthorization, { session }) {
      release();
      const saveCard = consent();
      const card = list?.chosen;
      if (!card) return { token: (await frame.tokenize(sdkAuthorization)).token, saveCard };
      if (!securityCodeRequired) return { token: await open(card, session), saveCard };
      const token = await frame.sendCode!(sdkAuthorization, () => open(card, session)).catch(askAgain);
      return { token, saveCard };
    },
    focus: () => (iframe.hidden ? list!.focus() : frame.focus()),
    setDisabled(disabled) {
      if (disabled) release();
      list?.setDisabled(disabled);
      box.setDisabled(disabled);
      frame.setDisabled(disabled);
    },
    destroy() {
      release();
      undress();
      list?.remove();
      box.label.remove();
      terms.remove();
      frame.destroy();
    },
  };
}

/**
 * Makes the form of a set-up show no amount, and name the outcome for the card. Returns a function that undoes this.
 */
function dressAsSetUp(form: Form, [, , , , , pay, settingUp, isSetUp]: CardsTexts): () => void {
  const { setSummary, say } = form;
  form.setSummary = (shown) => setSummary({ ...shown, amount: "", pay });
  form.say = (message) => {
    const isAboutCard = message?.kind === "status" && message.tone !== "notice";
    say(isAboutCard ? { ...message, text: message.tone ? isSetUp : settingUp } : message);
  };
  const root = form.cardContainer.getRootNode() as ShadowRoot;
  const [merchant, amount] = [".merchant", ".amount"].map((part) => root.querySelector(part)!.textContent ?? "");
  // The service has answered before.
  if (amount) form.setSummary({ merchantName: merchant!, amount, pay });
  return () => Object.assign(form, { setSummary, say });
}

/**
 * Rethrows an error of the vault. If the vault has lost the token since, the payment asks for another after the error.
 */
function askAgain(error: { code?: string }): never {
  throw /^token_/.test(error.code ?? "") ? Object.assign(error, { code: "token_refused" }) : error;
}

/** The question whether to store the card, which the customer answers by ticking. */
class SaveBox {
  readonly label = element("label", "save");
  readonly #box = element("input", "");
  #isLocked = false;

  constructor(text: string) {
    this.#box.type = "checkbox";
    this.#box.addEventListener("click", (event) => this.#isLocked && event.preventDefault());
    this.label.append(this.#box, text);
  }

  get isTicked(): boolean {
    return !this.label.hidden && this.#box.checked;
  }

  setDisabled(disabled: boolean): void {
    this.#isLocked = disabled;
    this.#box.ariaDisabled = disabled ? "true" : null;
  }
}

/**
 * Calls the service in Connect's JSON: too few calls for its client. Returns an empty answer where there is no such card, and
 * undefined for every other failure.
 */
async function call<Answer extends object>(
  apiBase: string,
  { sessionId, clientSecret }: CheckedSession,
  rpc: string,
  fields: object = {},
): Promise<Answer | Partial<Answer> | undefined> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), timeoutMs);
  try {
    const answer = await fetch(`${apiBase}/payments.v1.CheckoutService/${rpc}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${clientSecret}`,
        "content-type": "application/json",
        "connect-protocol-version": "1",
      },
      body: JSON.stringify({ sessionId, ...fields }),
      signal: limit.signal,
    });
    const body = await answer.json();
    if (answer.ok) return body as Answer;
    return body.code === "not_found" ? {} : undefined;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
