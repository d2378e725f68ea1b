/** The wallets that a page can offer for a session, and what it opens their sheets with. */
import { create } from "@bufbuild/protobuf";
import { GooglePaySchema, type OfferedWallet, OfferedWalletSchema } from "../../../gen/payments/v1/checkout_pb.ts";
import type { Core } from "../../core/core.ts";
import { planAsked } from "../../core/decide/plan-route.ts";
import { followCases } from "../../core/decide/routing-cases.ts";
import { factsOf, loadRoute } from "../../core/record/routing-rules.ts";
import type { PaymentSession } from "../../core/rows/entities.ts";
import { loadStored } from "../../core/stored-cards/load-stored.ts";
import { planWallet } from "../../core/wallets/plan-wallet.ts";
import type { WalletName } from "../../platform/card-token.ts";
import { encodeId } from "../../platform/ids.ts";
import { decimalOf, isoExponent } from "../../platform/money.ts";
import { bindingOf, type MerchantWallets, orderHashOf, walletsInUse } from "../../platform/wallets.ts";

// Google's recipient of every token of its test environment:
// https://developers.google.com/pay/api/web/guides/resources/payment-data-cryptography (2026).
const googleTestMerchant = "12345678901234567890";

// All that both wallets have. For any other name Apple's sheet does not open, nor does Google's:
// https://developer.apple.com/documentation/applepayontheweb/applepaypaymentrequest/supportednetworks and
// https://developers.google.com/pay/api/web/reference/request-objects#CardParameters (2026).
const knownNetworks = ["visa", "mastercard", "amex", "discover", "jcb"];

type Page = {
  readonly session: PaymentSession;
  readonly wallets: MerchantWallets | null;
  /** The page's; a caller without one is no page, and opens no sheet. */
  readonly origin: string;
};

/** Returns the wallets of an open session that a gateway of its route takes. */
export async function offeredWallets(
  { core, name }: { readonly core: Core; readonly name: "test" | "live" },
  { session, wallets, origin }: Page,
): Promise<OfferedWallet[]> {
  const isTest = name === "test";
  const inUse = offeredNames(core, wallets, { isTest, origin });
  const exponent = isoExponent(session.currency);
  if (inUse.length === 0 || session.amountMinor === 0 || exponent === 3) return [];
  const { countryCode = "", google } = wallets!;
  const amount = decimalOf(session.amountMinor, exponent);
  // A wallet's card cannot be stored.
  if (session.stored && (await loadStored(core.database, session.id)).role !== "CUSTOMER") return [];
  const taken = await findTaken(core, session);
  const { merchantId, orderRef, amountMinor, currency } = session;
  const hash = orderHashOf(encodeId("mer", merchantId), orderRef);
  const binding = bindingOf({ hash, amountMinor, currency }).toString("base64");
  return inUse.flatMap((type) => {
    const networks = taken.networksOf(type);
    const offered = { type, networks, countryCode, amount, currency, binding };
    if (networks.length === 0) return [];
    if (type === "google_pay") {
      const authMethods = taken.googleMethods;
      const environment = isTest ? "TEST" : "PRODUCTION";
      const of = { ...google!, ...(isTest && { merchantId: googleTestMerchant }) };
      const sheet = create(GooglePaySchema, { ...of, authMethods, environment });
      return [create(OfferedWalletSchema, { ...offered, google: sheet })];
    }
    // Apple documents the unit of its amounts for no other currencies.
    return exponent === 2 ? [create(OfferedWalletSchema, offered)] : [];
  });
}

/** Returns the wallets that this page may show, whatever gateways take. */
export function offeredNames(
  { vault, runtime }: Pick<Core, "vault" | "runtime">,
  wallets: MerchantWallets | null,
  { isTest, origin }: { readonly isTest: boolean; readonly origin: string | null },
): WalletName[] {
  // An outside vault has no key.
  if (!vault.carriesMerchantKey) return [];
  const inUse = walletsInUse(wallets, runtime.now());
  // Test has an emulator that knows every merchant and page.
  const isKnownToApple =
    isTest || (wallets?.apple?.identityEndsAt !== undefined && Object.hasOwn(wallets.domains ?? {}, origin ?? ""));
  return inUse.filter((type) => type !== "apple_pay" || isKnownToApple);
}

/** Finds the networks that each wallet can pay with, by the route that a payment with one would follow. */
async function findTaken(core: Core, session: PaymentSession) {
  const rule = await loadRoute(core, session);
  const facts = factsOf(core, session, rule, undefined);
  const taken = knownNetworks.map((network) => {
    // Before the sheet, only the card's network is known.
    const { route } = followCases(rule, { ...facts, card: { brand: network } });
    const takesToken = (name: WalletName) =>
      planWallet(route, { credential: "NETWORK_TOKEN", name, network }, { canAsk: true }).plan.length > 0;
    // A card of Google's without a cryptogram has to be authenticated.
    const asked = route.authentication === "NEVER" ? undefined : planAsked(route, { canAsk: true });
    const takesCard = asked?.plan.some(({ gateway }) => {
      const connector = core.connectorOf(gateway);
      return connector && (connector.cardBrands ?? knownNetworks).includes(network);
    });
    return { network, apple: takesToken("apple_pay"), google: takesToken("google_pay"), card: takesCard === true };
  });
  return {
    networksOf: (type: WalletName) =>
      taken
        .filter(({ apple, google, card }) => (type === "apple_pay" ? apple : google || card))
        .map(({ network }) => network),
    googleMethods: [
      ...(taken.some(({ google }) => google) ? ["CRYPTOGRAM_3DS"] : []),
      ...(taken.some(({ card }) => card) ? ["PAN_ONLY"] : []),
    ],
  };
}
