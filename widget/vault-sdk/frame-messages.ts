/** The messages between the merchant's page and the card frame, and the checks of each side. Pure. */

import type { CardFields } from "./card-checks.ts";

/** The look of the form; appearance.ts has the rules for variables. Labels are `floating` or above their fields. */
export type Appearance = {
  readonly theme?: string;
  readonly labels?: string;
  readonly variables?: Readonly<Record<string, string>>;
};

/** The one message that is posted to the frame's window; it carries the port for everything after it. */
export type InitMessage = Required<Omit<Appearance, "labels">> & {
  readonly labels?: string;
  readonly type: "switchyard-card-frame";
  readonly locale: string;
  /** Absent from pages with an older script of the vault. */
  readonly fields?: CardFields;
};

/** The page's messages to the frame. */
export type ToFrame =
  | { readonly type: "tokenize"; readonly request: number; readonly sdkAuthorization: string }
  | { readonly type: "focus" }
  | { readonly type: "clearCode" }
  | { readonly type: "setDisabled"; readonly disabled: boolean }
  /** Names of the accepted brands, separated by spaces. */
  | { readonly type: "accept"; readonly brands: string }
  /** Asks for the security code of a stored card of this network alone; for a whole card if it is empty. */
  | { readonly type: "ask"; readonly brand: string }
  /** Shows the problem of an incomplete security code. */
  | { readonly type: "checkCode"; readonly request: number }
  /** Posts a token that a wallet has encrypted for the merchant. */
  | {
      readonly type: "sendWallet";
      readonly request: number;
      readonly sdkAuthorization: string;
      readonly wallet: string;
      readonly token: string;
    }
  /** Posts the security code for a stored card's token. */
  | {
      readonly type: "sendCode";
      readonly request: number;
      readonly sdkAuthorization: string;
      readonly token: string;
    };

/** The form's state as the page may know it. It reveals only the card's network. */
export type FormState = { readonly complete: boolean; readonly empty: boolean; readonly brand: string };

/** The frame's messages to the page. */
export type FromFrame =
  /** `title` is the form's name in its language. An older frame does not say that its vault takes wallets' tokens. */
  | { readonly type: "ready"; readonly title: string; readonly takesWallets?: true }
  | { readonly type: "resize"; readonly height: number }
  | ({ readonly type: "change" } & FormState)
  /** The customer pressed Enter in a field. */
  | { readonly type: "submit" }
  | {
      readonly type: "tokenized";
      readonly request: number;
      readonly token: string;
      readonly brand: string;
      readonly last4: string;
    }
  /** The form now shows the fields that the page has requested. */
  | { readonly type: "asked" }
  /** The security code is complete, or the vault has taken it. */
  | { readonly type: "coded"; readonly request: number }
  | { readonly type: "failed"; readonly request: number; readonly code: string; readonly detail: string };

type Kind = "string" | "number" | "boolean";
type Shapes<Message extends { type: string }> = {
  readonly [Type in Message["type"]]: {
    readonly [Member in Exclude<keyof Extract<Message, { type: Type }>, "type" | "takesWallets">]: Kind;
  };
};

const toFrameShapes: Shapes<ToFrame> = {
  tokenize: { request: "number", sdkAuthorization: "string" },
  focus: {},
  clearCode: {},
  setDisabled: { disabled: "boolean" },
  accept: { brands: "string" },
  ask: { brand: "string" },
  checkCode: { request: "number" },
  sendWallet: { request: "number", sdkAuthorization: "string", wallet: "string", token: "string" },
  sendCode: { request: "number", sdkAuthorization: "string", token: "string" },
};

const fromFrameShapes: Shapes<FromFrame> = {
  ready: { title: "string" },
  resize: { height: "number" },
  change: { complete: "boolean", empty: "boolean", brand: "string" },
  submit: {},
  tokenized: { request: "number", token: "string", brand: "string", last4: "string" },
  asked: {},
  coded: { request: "number" },
  failed: { request: "number", code: "string", detail: "string" },
};

/** Returns the page's message, or undefined for anything else. */
export function parseToFrame(data: unknown): ToFrame | undefined {
  return hasShapeOf(toFrameShapes, data) ? (data as ToFrame) : undefined;
}

/** Returns the frame's message, or undefined for anything else. */
export function parseFromFrame(data: unknown): FromFrame | undefined {
  return hasShapeOf(fromFrameShapes, data) ? (data as FromFrame) : undefined;
}

/** Returns the first message, or undefined for anything else. */
export function parseInit(data: unknown): InitMessage | undefined {
  if (!isRecord(data) || data.type !== "switchyard-card-frame" || !isRecord(data.variables)) return undefined;
  if (typeof data.locale !== "string" || typeof data.theme !== "string") return undefined;
  if (!["string", "undefined"].includes(typeof data.labels)) return undefined;
  if (data.fields !== undefined && !isRecord(data.fields)) return undefined;
  return Object.values(data.variables).every((value) => typeof value === "string") ? (data as InitMessage) : undefined;
}

function hasShapeOf(shapes: Readonly<Record<string, Readonly<Record<string, Kind>>>>, data: unknown): boolean {
  if (!isRecord(data) || typeof data.type !== "string" || !Object.hasOwn(shapes, data.type)) return false;
  return Object.entries(shapes[data.type] ?? {}).every(([member, kind]) => typeof data[member] === kind);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
