/** The wallets that a page can offer for a session, and what it opens their sheets with. */
import { create } from "@bufbuild/protobuf";
import { GooglePaySchema, type OfferedWallet, OfferedWalletSchema } from "../../../gen/payments/v1/checkout_pb.ts";
import { type MerchantWallets, walletsInUse } from "../../accounts/merchant-wallets.ts";
import type { Core } from "../../core/core.ts";
import { planAsked, planRoute, type Route } from "../../core/decide/plan-route.ts";
import { routesOf } from "../../core/decide/routing-cases.ts";
import { loadRoute } from "../../core/record/routing-rules.ts";
import type { PaymentSession } from "../../core/rows/entities.ts";
import type { WalletName } from "../../platform/card-token.ts";
import { encodeId } from "../../platform/ids.ts";
import { decimalOf, isoExponent } from "../../platform/money.ts";
import { bindingOf, orderHashOf } from "../../platform/wallet-order.ts";

// Google's recipient of every token of its test environment:
// https://developers.google.com/pay/api/web/guides/resources/payment-data-cryptography (2026).
const googleTestMerchant = "12345678901234567890";

// Of a gateway that leaves it to the account: all that both wallets have.
const everyNetwork = ["visa", "mastercard", "amex", "discover", "jcb"];

type Page = {
  readonly session: PaymentSession;
  readonly wallets: MerchantWallets | null;
  /** The page's origin; null for a caller that is none. */
  readonly origin: string | null;
};

/** Returns the wallets of an open session that at least one gateway of its route takes. */
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
    isTest || (wallets?.apple?.hasIdentity === true && Object.hasOwn(wallets.domains ?? {}, origin ?? ""));
  return inUse.filter((type) => type !== "apple_pay" || isKnownToApple);
}

async function findTaken(core: Core, session: PaymentSession) {
  const rule = await loadRoute(core, session);
  const routes: readonly Route[] = rule.cases || rule.split ? routesOf(rule) : [rule];
  const connectorsOf = (plans: readonly { readonly gateway: string }[]) =>
    plans.flatMap(({ gateway }) => core.connectorOf(gateway) ?? []);
  const planned = connectorsOf(routes.flatMap((route) => planRoute(route).plan));
  // A card of Google's without a cryptogram has to be authenticated.
  const asked = connectorsOf(
    routes.flatMap((route) =>
      route.authentication === "NEVER" ? [] : (planAsked(route, { canAsk: true })?.plan ?? []),
    ),
  );
  const tokensOf = (type: WalletName) =>
    planned.flatMap(({ acceptsNetworkToken: accepts }) => (accepts?.wallets.includes(type) ? accepts.networks : []));
  const cards = asked.flatMap(({ cardBrands = everyNetwork }) => cardBrands);
  return {
    networksOf: (type: WalletName) => [
      ...new Set(type === "google_pay" ? [...tokensOf(type), ...cards] : tokensOf(type)),
    ],
    googleMethods: [
      ...(tokensOf("google_pay").length > 0 ? ["CRYPTOGRAM_3DS"] : []),
      ...(cards.length > 0 ? ["PAN_ONLY"] : []),
    ],
  };
}
