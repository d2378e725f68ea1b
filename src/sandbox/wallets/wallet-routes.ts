/**
 * Emulates both sides of Apple Pay and Google Pay: the scripts with their sheets, Apple's sessions and certificates,
 * and Google's root keys. The tokens are real, under separate roots, which vaults accept in test if they are configured
 * to.
 */
import type { KeyObject } from "node:crypto";
import { createPublicKey, randomBytes, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { TestCard } from "../../gateways/sandbox/card-behaviour.ts";
import { deviceCards, walletPanCards } from "../../gateways/sandbox/wallet-cards.ts";
import { currencyNumber } from "../../platform/iso-numbers.ts";
import { isCurrency, isoExponent } from "../../platform/money.ts";
import { parseJsonObject } from "../../platform/outbound-http.ts";
import type { Book, Books } from "../books.ts";
import type { Route, SandboxAnswer, SandboxRequest } from "../routes.ts";
import { AppleAuthority, publicKeyOf, publicKeyOfPoint, type SavedAuthority } from "./apple-authority.ts";
import { forgeries, makeAppleToken, makeGoogleToken } from "./forgeries.ts";
import { GoogleAuthority } from "./google-authority.ts";

type Saved = { readonly apple: SavedAuthority; readonly google: { readonly root: string; readonly endsAt: number } };

// A start makes them, and the next one finds them.
const merchantsMax = 1_000;
const googleTestRecipient = "12345678901234567890";

/** The authorities of both wallets, and the merchants that they know. */
export class Wallets {
  readonly #saved: Book<Saved>;
  /** The merchants by Apple's identifier: the public key in base64 of DER. */
  readonly #merchants: Book<{ readonly publicKey: string }>;
  #opened: Promise<{ readonly apple: AppleAuthority; readonly google: GoogleAuthority }> | undefined;
  #stranger: Promise<AppleAuthority> | undefined;
  /** The forgery of the next tokens; empty for true ones. */
  forgery = "";

  constructor(books: Books) {
    this.#saved = books.open("wallet-authority", 1);
    this.#merchants = books.open("wallet-merchant", merchantsMax);
  }

  /** Makes the authorities when a wallet is first used: key pairs and certificates take a moment. */
  open() {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async #open() {
    const saved = this.#saved.get("authorities");
    const apple = saved ? await AppleAuthority.restore(saved.apple) : await AppleAuthority.create();
    const { root, endsAt } = saved?.google ?? {};
    const google = new GoogleAuthority(root && endsAt ? { root, endsAt: new Date(endsAt) } : {});
    if (!saved) this.#saved.set("authorities", { apple: await apple.save(), google: google.save() });
    return { apple, google };
  }

  stranger(): Promise<AppleAuthority> {
    this.#stranger ??= AppleAuthority.create();
    return this.#stranger;
  }

  /** Issues a certificate like Apple's portal, and encrypts for the key from now on. */
  async register(signingRequest: string, merchantIdentifier: string, isIdentity: boolean): Promise<string> {
    const { apple } = await this.open();
    const der = await apple.issueFor(signingRequest, merchantIdentifier);
    if (!isIdentity) {
      const key = await publicKeyOf(signingRequest);
      const publicKey = key.export({ format: "der", type: "spki" }).toString("base64");
      this.#merchants.set(merchantIdentifier, { publicKey });
    }
    return new X509Certificate(der).toString();
  }

  keyOf(merchantIdentifier: string): KeyObject | undefined {
    const known = this.#merchants.get(merchantIdentifier);
    return known && createPublicKey({ key: Buffer.from(known.publicKey, "base64"), format: "der", type: "spki" });
  }
}

// The page's origin is another one.
const forPages = { "access-control-allow-origin": "*", "access-control-allow-headers": "content-type" };

export function walletRoutes(wallets: Wallets): readonly Route[] {
  return [
    route("GET", /^\/wallets\/(?<name>apple-pay|google-pay)\.js$/, "wallet.script", async ({ parameters, headers }) =>
      scriptOf(parameters.name!, `http://${String(headers.host)}`),
    ),
    route("GET", /^\/wallets\/google\/keys\.json$/, "wallet.keys", async () => {
      return { status: 200, body: (await wallets.open()).google.keys };
    }),
    route("GET", /^\/wallets\/roots\.json$/, "wallet.roots", async () => {
      const { apple, google } = await wallets.open();
      return { status: 200, body: { apple: [apple.rootPem], google: google.keys } };
    }),
    route("POST", /^\/wallets\/apple\/certificates$/, "wallet.certificate", async ({ body }) => {
      const { signingRequest, merchantIdentifier, kind } = jsonOf(body);
      const certificate = await wallets.register(
        String(signingRequest),
        String(merchantIdentifier),
        kind === "identity",
      );
      return { status: 200, body: { certificate } };
    }),
    route("POST", /^\/paymentservices\/paymentSession$/, "wallet.session", async ({ body }) => {
      const { merchantIdentifier, displayName, initiativeContext } = jsonOf(body);
      if (wallets.keyOf(String(merchantIdentifier)) === undefined) return { status: 400, body: {} };
      const nonce = randomBytes(4).toString("hex");
      const session = { merchantIdentifier, displayName, domainName: initiativeContext, nonce, signature: "emulated" };
      return { status: 200, body: session };
    }),
    route("POST", /^\/wallets\/(?<name>apple|google)\/token$/, "wallet.token", async ({ parameters, body }) => {
      const asked = jsonOf(body);
      return parameters.name === "apple" ? appleToken(wallets, asked) : googleToken(wallets, asked);
    }),
    route("PUT", /^\/admin\/wallets$/, "admin.wallets", async ({ body }) => {
      wallets.forgery = String(jsonOf(body).forgery ?? "");
      return { status: 200, body: { forgery: wallets.forgery, forgeries } };
    }),
  ];
}

function route(
  method: Route["method"],
  path: RegExp,
  operation: string,
  answer: (request: SandboxRequest) => Promise<Exclude<SandboxAnswer, string>>,
): Route {
  return {
    method,
    path,
    operation,
    handle: async (request) => {
      const { headers, ...answered } = await answer(request);
      return { ...answered, headers: { ...forPages, ...headers } };
    },
  };
}

async function appleToken(wallets: Wallets, asked: Readonly<Record<string, unknown>>) {
  const { merchantIdentifier, number, amount, currency, applicationData } = asked;
  const publicKey = wallets.keyOf(String(merchantIdentifier));
  if (!publicKey || !isCurrency(String(currency))) return { status: 400, body: {} };
  const { apple: authority } = await wallets.open();
  const payment = {
    publicKey,
    recipient: String(merchantIdentifier),
    number: String(number),
    eci: "07",
    currencyCode: currencyNumber(String(currency)) ?? "",
    amountMinor: Math.round(Number(amount) * 10 ** isoExponent(String(currency))),
    binding: typeof applicationData === "string" ? Buffer.from(applicationData, "base64") : undefined,
    cryptogram: cryptogramOf(asked),
  };
  const parts = { authority, stranger: () => wallets.stranger() };
  return { status: 200, body: JSON.parse(await makeAppleToken(parts, payment, wallets.forgery)) };
}

async function googleToken(wallets: Wallets, asked: Readonly<Record<string, unknown>>) {
  const { publicKey, number } = asked;
  const isDevice = deviceCards.some((card) => card.number === number);
  const { google } = await wallets.open();
  const payment = {
    publicKey: publicKeyOfPoint(String(publicKey)),
    recipient: googleTestRecipient,
    number: String(number),
    ...(isDevice && { cryptogram: cryptogramOf(asked), eci: "05" }),
  };
  return { status: 200, body: { token: makeGoogleToken(google, payment, wallets.forgery) } };
}

/** A new one, unless the request names one. */
function cryptogramOf({ cryptogram }: Readonly<Record<string, unknown>>): string {
  return typeof cryptogram === "string" ? cryptogram : randomBytes(20).toString("base64");
}

const sheet = readFileSync(new URL("sheet.js", import.meta.url), "utf8");

/** The script of a wallet as a page loads it: the sheet, then what the wallet's own script defines. */
function scriptOf(name: string, origin: string) {
  const own = readFileSync(new URL(`${name}.js`, import.meta.url), "utf8");
  const shown = ({ number, name: label }: TestCard) => ({ number, label });
  const cards = { device: deviceCards.map(shown), pan: walletPanCards.map(shown) };
  const given = JSON.stringify({ origin, cards });
  const page = `(() => {\nconst given = ${given};\n${sheet}\n${own}\n})();\n`;
  const headers = { "content-type": "text/javascript; charset=utf-8", "cache-control": "no-store" };
  return { status: 200, body: {}, page, headers };
}

function jsonOf(body: string): Readonly<Record<string, unknown>> {
  return parseJsonObject(Buffer.from(body)) ?? {};
}
