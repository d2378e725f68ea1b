/** The public options of Switchyard.mount and their validation, before anything is sent. */

import type { WidgetError } from "./answers.ts";

/** The vault object of the create answer. Pass it unchanged: its members depend on the vault mode. */
export type VaultConfiguration = { readonly [member: string]: unknown };

/** Identifies one session to the widget; all three are from the create answer. */
export type SessionOptions = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly vault: VaultConfiguration;
};

/** The look of the form. A member or variable that breaks its rule is left out, with a warning in the console. */
export type Appearance = {
  /** `auto`, the default, follows the customer's system on a page that can be dark. */
  readonly theme?: "auto" | "light" | "dark";
  /** `above`, the default, or inside the fields until they are used. */
  readonly labels?: "above" | "floating";
  /** The line with the merchant's name and the amount. */
  readonly summary?: "shown" | "hidden";
  readonly variables?: Readonly<Partial<Record<AppearanceVariable, string>>>;
};

/** The name of a color, a length or a font that a merchant may set; appearance.ts has their rules. */
type AppearanceVariable = (typeof variableNames)[number];

export const variableNames = [
  "color-primary",
  "color-on-primary",
  "color-text",
  "color-danger",
  "color-background",
  "color-border",
  "border-width",
  "radius",
  "spacing",
  "font-size",
  "font-family",
] as const;

/** The card form's state while the customer types; it reveals only the card's network. */
type CardChange = { readonly complete: boolean; readonly empty: boolean; readonly brand: string };

/** The options that a merchant's page passes to the widget. */
export type MountOptions = SessionOptions & {
  /** A selector that matches one element, or the element. */
  readonly container: string | Element;
  /** The service's origin, such as `https://pay.example`. */
  readonly apiBase: string;
  readonly onSuccess: (result: { capturedVia: string; failoverUsed: boolean }) => void;
  readonly onDeclined: (result: { declineCode: string }) => void;
  readonly onReady?: () => void;
  readonly onChange?: (change: CardChange) => void;
  readonly onError?: (error: WidgetError) => void;
  /** If absent, an expired session calls onDeclined with `session_expired`. */
  readonly onExpired?: () => void;
  /**
   * Called when the payment runs longer than its budget; the outcome follows if the page stays open, and by webhook in
   * any case.
   */
  readonly onPending?: () => void;
  /**
   * Returns a fresh session for the same order, from the page's backend. With it the customer tries again in the same
   * form after a decline, or after the session's time: the next press of the pay button calls it.
   */
  readonly getSession?: () => SessionOptions | Promise<SessionOptions>;
  /** Called when the bank's page is shown for the customer to confirm the payment, and when that has ended. */
  readonly onAuthentication?: (step: { state: "shown" | "finished" }) => void;
  /**
   * This page's address, which mounts the same session again. Browsers that open no second window, as in some apps, go
   * to the bank and come back to it.
   */
  readonly returnTo?: string;
  /** BCP 47; the page's language by default. */
  readonly locale?: string;
  readonly appearance?: Appearance;
  /**
   * Fields of the card form: `holderName: true` makes the cardholder's name necessary, `false` hides it; `postalCode:
   * true` adds the postal code of the billing address. An external vault's form ignores them.
   */
  readonly fields?: { readonly holderName?: boolean; readonly postalCode?: boolean };
  /** The wallets to offer, in this order; both by default, if the merchant has them. */
  readonly wallets?: readonly WalletName[];
  /** False if the page has its own pay button, which calls submit(). */
  readonly submitButton?: boolean;
};

type WalletName = "apple_pay" | "google_pay";

/** The vault's members that a self-hosted vault's script needs. */
type VaultAccess = {
  readonly publishableKey: unknown;
  readonly sdkUrl: URL;
  readonly sdkAuthorization: string;
  readonly framePolicy: string | undefined;
  /** True if the session names its customer, who may have stored cards or store one. */
  readonly storedCards: boolean;
  /** The wallets that the merchant has set up. */
  readonly wallets: string;
};

/** The validated options of a session. */
export type CheckedSession = { readonly sessionId: string; readonly clientSecret: string; readonly vault: VaultAccess };

/** All validated options, with the defaults filled in. */
export type CheckedOptions = {
  readonly container: Element;
  /** The origin without path. */
  readonly apiBase: string;
  readonly session: CheckedSession;
  /** The appearance without unknown members. */
  readonly appearance: Appearance;
  /** The wallets for which the form reserves a place. Apple Pay is among them only in a browser that has it. */
  readonly wallets: readonly string[];
};

/** A mistake in the integration. The message names the option and never contains its value. */
export class WrongOptionError extends TypeError {
  override readonly name = "WrongOptionError";
  readonly option: string;

  constructor(option: string, problem: string) {
    super(`Switchyard.mount: ${option} ${problem}`);
    this.option = option;
  }
}

const callbacks = [
  "onSuccess",
  "onDeclined",
  "onReady",
  "onChange",
  "onError",
  "onExpired",
  "onPending",
  "onAuthentication",
  "getSession",
] as const;
const plainOptions = [
  "container",
  "apiBase",
  "sessionId",
  "clientSecret",
  "vault",
  "wallets",
  "locale",
  "appearance",
  "fields",
  "submitButton",
  "returnTo",
];
const known = new Set<string>([...callbacks, ...plainOptions]);

/** Checks everything that can be known without the network; throws a WrongOptionError on the first mistake. */
export function checkOptions(options: MountOptions): CheckedOptions {
  if (!isObject(options)) throw new WrongOptionError("options", "must be an object.");
  for (const name of Object.keys(options)) {
    if (!known.has(name)) throw new WrongOptionError(name, "is not an option of this version.");
  }
  for (const name of callbacks) {
    if (typeof options[name] === "function") continue;
    if (options[name] === undefined && name !== "onSuccess" && name !== "onDeclined") continue;
    throw new WrongOptionError(name, "must be a function.");
  }
  if (![true, false, undefined].includes(options.submitButton)) {
    throw new WrongOptionError("submitButton", "must be true or false.");
  }
  checkLocale(options.locale);
  if (options.returnTo !== undefined) secureUrl("returnTo", options.returnTo);
  const apiBase = checkOrigin(options.apiBase);
  const session = checkSession(options);
  const { wallets = session.vault.wallets.split(" ") } = options;
  if (!isObject(wallets)) throw new WrongOptionError("wallets", "must be a list.");
  const container = checkContainer(options.container);
  return {
    session,
    apiBase,
    container,
    appearance: usableAppearance(options.appearance),
    wallets: wallets.filter(
      (name) => session.vault.wallets.includes(name) && (name !== "apple_pay" || "ApplePaySession" in globalThis),
    ),
  };
}

/** Checks the options that update() checks again for a fresh session. */
export function checkSession(options: SessionOptions): CheckedSession {
  if (!isObject(options)) throw new WrongOptionError("session", "must be an object.");
  const { sessionId, clientSecret, vault } = options;
  if (typeof sessionId !== "string" || !/^ps_\w+$/.test(sessionId)) {
    throw new WrongOptionError("sessionId", "must be the sessionId of a created session (ps_…).");
  }
  checkClientSecret(clientSecret, sessionId);
  if (!isObject(vault)) {
    throw new WrongOptionError("vault", "must be the vault object as it came.");
  }
  const { publishableKey, sdkUrl, sdkAuthorization, framePolicy, storedCards, wallets = "" } = vault;
  const script = secureUrl("vault.sdkUrl", sdkUrl);
  if (typeof sdkAuthorization !== "string" || sdkAuthorization === "") {
    throw new WrongOptionError("vault.sdkAuthorization", "is missing.");
  }
  const policy = typeof framePolicy === "string" ? framePolicy : undefined;
  return {
    sessionId,
    clientSecret,
    vault: {
      publishableKey,
      sdkUrl: script,
      sdkAuthorization,
      framePolicy: policy,
      storedCards: storedCards as boolean,
      wallets: wallets as string,
    },
  };
}

function checkClientSecret(clientSecret: unknown, sessionId: string): void {
  const text = typeof clientSecret === "string" ? clientSecret : "";
  if (/_(test|live)_([sr]k|whsec)_/.test(text)) {
    throw new WrongOptionError("clientSecret", "holds a secret of your server. Replace it: this page has shown it.");
  }
  if (/_(test|live)_pk_/.test(text)) {
    throw new WrongOptionError("clientSecret", "holds a publishable key.");
  }
  // Its end is base64url, so a hyphen is as likely there as any letter.
  if (!/^ps_\w+_secret_[\w-]+$/.test(text)) {
    throw new WrongOptionError("clientSecret", "must be the clientSecret of a created session.");
  }
  if (!text.startsWith(`${sessionId}_secret_`)) {
    throw new WrongOptionError("clientSecret", "belongs to another session than sessionId.");
  }
}

function checkOrigin(apiBase: unknown): string {
  const url = secureUrl("apiBase", apiBase);
  if (url.href !== `${url.origin}/`) {
    throw new WrongOptionError("apiBase", "must be the service's origin alone, without a path.");
  }
  return url.origin;
}

function secureUrl(option: string, value: unknown): URL {
  const url = typeof value === "string" ? parseUrl(value) : undefined;
  if (!url) throw new WrongOptionError(option, "must be an absolute URL.");
  if (url.username || url.password) throw new WrongOptionError(option, "must not hold credentials.");
  if (!/^(https:|http:\/\/(([^/]+\.)?localhost|127(\.\d+){3}|\[::1\])(:|\/))/.test(url.href)) {
    throw new WrongOptionError(option, "must be https (http only on localhost).");
  }
  return url;
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function checkLocale(locale: unknown): void {
  if (locale === undefined) return;
  try {
    Intl.getCanonicalLocales(locale as string);
    if (typeof locale === "string") return;
  } catch {
    // This is the same mistake as a locale that is no string.
  }
  throw new WrongOptionError("locale", "must be a language tag such as de or pt-BR.");
}

// Excludes addresses, properties of the page, and characters that end a declaration.
const harmless = /^(?!.*(url|var|env|attr|image|element)\()[\w\s#%.,()"'/-]{1,200}$/i;

/**
 * Keeps the harmless parts of whatever a page gives: a mistake in the form's look must not cost a payment.
 * appearance.ts names and removes the parts that break a further rule.
 */
function usableAppearance(appearance: unknown): Appearance {
  const { variables, ...others } = Object(appearance);
  const isUsable = (name: string) => typeof Object(variables)[name] === "string" && harmless.test(variables[name]);
  return {
    ...others,
    variables: Object.fromEntries(variableNames.filter(isUsable).map((name) => [name, variables[name]])),
  };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function checkContainer(container: unknown): Element {
  if (container instanceof Element) {
    // A frame outside the document never loads.
    if (container.isConnected) return container;
    throw new WrongOptionError("container", "is no element of this page (yet).");
  }
  if (typeof container !== "string") throw new WrongOptionError("container", "must be a selector or an element.");
  let matches: NodeListOf<Element>;
  try {
    matches = document.querySelectorAll(container);
  } catch {
    throw new WrongOptionError("container", "is not a valid selector.");
  }
  const [element, second] = matches;
  if (!element) throw new WrongOptionError("container", "matches no element of this page (yet).");
  if (second) throw new WrongOptionError("container", "matches more than one element.");
  return element;
}
