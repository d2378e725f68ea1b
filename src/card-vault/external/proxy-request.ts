/**
 * Translates a connector's request for the external vault's proxy: its placeholders for ours, and no part of a card in a
 * header or in a field without a card. Pure.
 */
import { gatewayHeaders, probeCardOf } from "../../platform/gateway-facts.ts";
import { withoutPlaceholders } from "../card-vault.ts";
import type { ProxyDestination } from "./destinations.ts";

/** The parts that the vault still has besides number and expiry; it discards the security code after the first use. */
export type CardParts = { readonly cvc: boolean; readonly holder: boolean; readonly brand?: false };

/** `refused`: the body asks for something that must not be sent. */
export type ProxyBody =
  | { readonly type: "body"; readonly value: unknown }
  | { readonly type: "refused"; readonly reason: string };

/**
 * Hyperswitch fills a string that is a placeholder and nothing else; the names are those of its stored card
 * (https://docs.hyperswitch.io "Proxy"; https://github.com/juspay/hyperswitch, interpolate_single_token in
 * crates/router/src/core/proxy.rs; 2026).
 */
const theirPlaceholders: Readonly<Record<string, { text: string; needs?: keyof CardParts }>> = {
  "{{card.number}}": { text: "{{$card_number}}" },
  "{{card.expMonth}}": { text: "{{$card_exp_month}}" },
  "{{card.expYear}}": { text: "{{$card_exp_year}}" },
  "{{card.cvc}}": { text: "{{$card_cvc}}", needs: "cvc" },
  "{{card.holder}}": { text: "{{$card_holder_name}}", needs: "holder" },
  // Its form offers no choice of a brand.
  "{{card.adyenBrand}}": { text: "", needs: "brand" },
};

class Refusal extends Error {}

// Gateways' requests nest four or five deep; more is a mistake, and the recursion must end.
const depthMax = 20;

/**
 * Translates a body. Fields whose part of the card the vault does not have are omitted, as for a customer who gave
 * none; in place of a missing holder's name, `holder` is sent if it is given.
 */
export function planProxyBody(
  destination: ProxyDestination,
  body: string,
  parts: CardParts,
  holder?: string,
): ProxyBody {
  try {
    return { type: "body", value: walk(JSON.parse(body), { destination, parts, holder, pointer: "", depth: 0 }) };
  } catch (error) {
    return { type: "refused", reason: error instanceof Refusal ? error.message : "the body is not JSON" };
  }
}

type Place = {
  readonly destination: ProxyDestination;
  readonly parts: CardParts;
  readonly holder: string | undefined;
  readonly pointer: string;
  readonly depth: number;
};

function walk(value: unknown, place: Place): unknown {
  if (place.depth > depthMax) throw new Refusal("the body nests too deep");
  if (typeof value === "string") return translate(value, place);
  if (typeof value !== "object" || value === null) return value;
  const into = (name: string): Place => ({ ...place, pointer: `${place.pointer}/${name}`, depth: place.depth + 1 });
  if (Array.isArray(value)) return value.map((item, index) => walk(item, into(String(index))));
  const members = Object.entries(value).map(([name, member]) => {
    if (name.includes("{{")) throw misplaced();
    return [name, walk(member, into(name.replaceAll("~", "~0").replaceAll("/", "~1")))];
  });
  return Object.fromEntries(members);
}

/** Translates a value; undefined, which JSON omits, for a part of the card that the vault does not have. */
function translate(value: string, { destination, parts, holder, pointer }: Place): string | undefined {
  if (!value.includes("{{")) return value;
  const theirs = theirPlaceholders[value];
  const isExpected = Object.hasOwn(destination.fields, pointer) && destination.fields[pointer] === value;
  if (theirs === undefined || !isExpected) throw misplaced();
  if (theirs.needs === undefined || parts[theirs.needs]) return theirs.text;
  return theirs.needs === "holder" && holder !== undefined ? withoutPlaceholders(holder) : undefined;
}

function misplaced(): Refusal {
  return new Refusal("a placeholder is in a field that this operation does not fill");
}

/**
 * Returns the JSON of a connector's test call, for which the vault has no card: a body that was checked against its destination, with the gateway's test card in place of the
 * vault's placeholders.
 */
export function fillProbe(checked: unknown, gateway: string, now: Date): string {
  const probed = probeCardOf(gateway, now);
  const card: Readonly<Record<string, string>> = {
    "{{$card_number}}": probed.number,
    "{{$card_exp_month}}": String(probed.expMonth).padStart(2, "0"),
    "{{$card_exp_year}}": String(probed.expYear),
    "{{$card_cvc}}": probed.cvc,
    "{{$card_holder_name}}": probed.holder,
  };
  return JSON.stringify(checked, (_, value: unknown) => (typeof value === "string" ? (card[value] ?? value) : value));
}

// These headers are the same as in our own vault (src/vault/forward.ts). A test compares them.
const reservedHeader =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept-encoding|proxy-.*)$/;
const headerName = /^[a-z0-9-]+$/;
const headerValue = /^[\x20-\x7e]*$/;

/** Returns these headers with those of every gateway request; undefined if one may not be sent. */
export function proxyHeadersOf(headers: Readonly<Record<string, string>>): Record<string, string> | undefined {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lowerName = name.toLowerCase();
    if (lowerName === "content-type") continue;
    const wellFormed = headerName.test(lowerName) && headerValue.test(value);
    if (!wellFormed || reservedHeader.test(lowerName) || value.includes("{{")) return undefined;
    checked[lowerName] = value;
  }
  return { ...checked, ...gatewayHeaders, "Content-Type": "application/json" };
}
