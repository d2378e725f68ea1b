/**
 * The stored cards of a session's customer, above the card form: which one to pay with, and whether to store another. A part of
 * its own, for sessions that name their customer. The payment uses it in place of the vault's frame, which it stands before.
 */

import type { SaveCard } from "./answers.ts";
import { cardsStyle } from "./cards-style.ts";
import { type CardsTexts, english, saveTemplate } from "./cards-texts.ts";
import type { Form } from "./form.ts";
import type { CheckedSession } from "./options.ts";
import type { CardFrame } from "./vault-sdk/sdk.ts";

/** A card frame that also says what the customer has agreed to store. */
export type PaymentFrame = Omit<CardFrame, "tokenize"> & {
  tokenize(
    sdkAuthorization: string,
    payment: { readonly session: CheckedSession },
  ): Promise<{ readonly token: string; readonly saveCard?: SaveCard | undefined }>;
};

type StoredCard = {
  readonly paymentMethodId: string;
  readonly brand: string;
  readonly last4: string;
  readonly expMonth: number;
  readonly expYear: number;
};

/** The answer of ListStoredCards, in JSON: a member at its default is absent. */
type Listed = {
  readonly storedCards?: readonly StoredCard[];
  readonly securityCodeRequired?: boolean;
  /** Absent if the session stores no card. */
  readonly saving?: { readonly agreementText?: string };
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
// The pay button below, which is not there yet.
const buttonHeight = 64;
const agreementTemplate = "agreement";

const brandNames: Readonly<Record<string, string>> = {
  visa: "Visa",
  mastercard: "Mastercard",
  amex: "American Express",
  discover: "Discover",
  diners: "Diners Club",
  jcb: "JCB",
  unionpay: "UnionPay",
  maestro: "Maestro",
  cartes_bancaires: "Cartes Bancaires",
  dankort: "Dankort",
};

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
    return (await import("./cards-translations.ts")).wordingFor(locale) ?? inEnglish;
  } catch {
    return inEnglish;
  }
}

function addStoredCards({ apiBase, locale, form }: Access, listed: Listed & Wording, frame: CardFrame): PaymentFrame {
  const { cardContainer } = form;
  const { language, texts } = listed;
  const [cardsText, anotherText, moreText, saveText, unavailableText] = texts;
  const { saving, securityCodeRequired } = listed;
  const iframe = cardContainer.querySelector("iframe")!;
  const { host } = cardContainer.getRootNode() as ShadowRoot & { host: HTMLElement };
  let isLocked = false;
  form.addStyle(cardsStyle);
  // Nothing on the page moves until the customer acts.
  const room = cardContainer.offsetHeight;
  host.style.minHeight = `${host.offsetHeight}px`;
  const release = () => host.style.removeProperty("min-height");

  const group = element("fieldset", "cards");
  const legend = element("legend", "unseen", cardsText);
  const cards = new Map<HTMLInputElement, StoredCard | undefined>();
  const more = element("button", "more", moreText);
  const alert = element("p", "error");
  const save = element("label", "save");
  const box = element("input", "");
  const terms = element("p", "terms", saving?.agreementText);

  // A radio button and a checkbox cannot be read-only, and disabled ones lose the focus. Arrow keys are clicks here, too.
  const lock = (event: Event) => isLocked && event.preventDefault();
  const chosen = () => [...cards.keys()].find(({ checked }) => checked);
  const show = () => {
    const card = cards.get(chosen()!);
    frame.ask!(card && (card.brand || "unknown"));
    iframe.hidden = card !== undefined && !securityCodeRequired;
    save.hidden = card !== undefined || !saving || saving.agreementText !== undefined;
  };
  const add = (card: StoredCard | undefined, ...content: (Node | string)[]) => {
    const option = element("label", "option");
    const input = element("input", "");
    input.type = "radio";
    input.name = "card";
    input.onclick = lock;
    option.append(input, ...content);
    group.append(option);
    cards.set(input, card);
  };
  for (const card of listed.storedCards ?? []) {
    const { brand, last4, expMonth, expYear } = card;
    const name = element("bdi", "", `${brandNames[brand] ?? ""} `);
    const dots = element("span", "", "•••• ");
    dots.ariaHidden = "true";
    name.dir = "ltr";
    name.append(dots, last4);
    add(card, name, element("bdi", "", `${String(expMonth).padStart(2, "0")}/${String(expYear).slice(-2)}`));
  }
  group.prepend(legend);
  group.append(more);
  add(undefined, anotherText);
  group.onchange = () => {
    alert.textContent = "";
    release();
    show();
  };
  alert.setAttribute("role", "alert");
  box.type = "checkbox";
  box.onclick = lock;
  save.append(box, saveText);
  save.hidden = true;
  terms.dir = "auto";
  // Without a stored card, or with an older vault, there is nothing to choose.
  const isList = cards.size > 1 && frame.ask !== undefined;
  const [first] = cards.keys();
  if (isList) {
    cardContainer.prepend(group, alert);
    first!.checked = true;
  }
  cardContainer.append(save, terms);
  if (isList) show();
  else save.hidden = !saving || saving.agreementText !== undefined;

  // As many cards as there is room for; the others stay behind a button.
  const inputs = [...cards.keys()].slice(0, -1);
  const hidden: HTMLInputElement[] = [];
  const bottom = () => {
    const children = [...cardContainer.children] as HTMLElement[];
    return Math.max(...children.map(({ offsetTop, offsetHeight }) => offsetTop + offsetHeight));
  };
  more.hidden = true;
  more.type = "button";
  while (isList && inputs.length > 1 && bottom() + buttonHeight > room) {
    more.hidden = false;
    hidden.unshift(inputs.pop()!);
    hidden[0]!.parentElement!.hidden = true;
  }
  more.onclick = () => {
    release();
    more.hidden = true;
    for (const { parentElement } of hidden) parentElement!.hidden = false;
    hidden[0]!.focus();
  };

  /** Takes a card out of the list that cannot be used. */
  const drop = (input: HTMLInputElement) => {
    input.parentElement!.remove();
    cards.delete(input);
    const [next] = cards.keys();
    next!.checked = true;
    group.hidden = cards.size === 1;
    show();
    alert.textContent = unavailableText;
    if (group.hidden) frame.focus();
    else next!.focus();
  };
  const consent = (): SaveCard | undefined => {
    if (terms.textContent) return { template: agreementTemplate, locale };
    return save.hidden || !box.checked ? undefined : { template: saveTemplate, locale: language };
  };
  return {
    ...frame,
    async tokenize(sdkAuthorization, { session }) {
      release();
      const saveCard = consent();
      const input = isList ? chosen()! : undefined;
      const card = input && cards.get(input);
      if (!card) return { token: (await frame.tokenize(sdkAuthorization)).token, saveCard };
      const { paymentMethodId } = card;
      const open = async () => {
        const used = await call<{ vaultToken?: string }>(apiBase, session, "UseStoredCard", { paymentMethodId });
        if (used?.vaultToken) return used.vaultToken;
        if (used) drop(input);
        const code = used ? "stored_card_unavailable" : "vault_unavailable";
        throw Object.assign(new Error("The stored card cannot be used."), { code });
      };
      try {
        const token = await (securityCodeRequired ? frame.sendCode!(sdkAuthorization, open) : open());
        return { token, saveCard };
      } catch (error) {
        // The vault has lost the token since: the payment asks for another one.
        if (/^token_/.test((error as { code?: string }).code ?? ""))
          Object.assign(error as object, { code: "token_refused" });
        throw error;
      }
    },
    focus: () => (iframe.hidden ? chosen()!.focus() : frame.focus()),
    setDisabled(disabled) {
      isLocked = disabled;
      if (disabled) release();
      for (const control of [group, box]) control.ariaDisabled = disabled ? "true" : null;
      frame.setDisabled(disabled);
    },
    destroy() {
      release();
      for (const part of [group, alert, save, terms]) part.remove();
      frame.destroy();
    },
  };
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

function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  part: string,
  text = "",
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  node.className = part;
  node.textContent = text;
  return node;
}
