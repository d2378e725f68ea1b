/** The names of gateways and cards, each beside its mark. */
import { isKnownBrand, nameOfBrand } from "./card-brand.ts";
import { nameOfGateway } from "./gateway-name.ts";

/** Returns the two letters of a gateway's mark: Sandbox A is SA, PayPal is Pa. */
function lettersOf(gateway: string): string {
  const [first = "", second] = nameOfGateway(gateway).split(" ");
  return second === undefined ? first.slice(0, 2) : first.slice(0, 1) + second.slice(0, 1);
}

export function Gateway({ gateway }: { gateway: string }) {
  return (
    <span className="gateway">
      <span className="gateway-mark" data-letters={lettersOf(gateway)} aria-hidden="true" />
      <span className="gateway-name">{nameOfGateway(gateway)}</span>
    </span>
  );
}

export const walletNames: Readonly<Record<string, string>> = { apple_pay: "Apple Pay", google_pay: "Google Pay" };

/** A card's brand and last digits. The marks are those of the card form: the page has them as symbols. */
export function CardFace({ brand, last4, wallet = "" }: { brand: string; last4: string; wallet?: string }) {
  return (
    <span className="card-face">
      <svg className="card-mark" aria-hidden="true">
        <use href={`#card-${isKnownBrand(brand) ? brand : "unknown"}`} />
      </svg>
      <span className="card-name">{nameOfBrand(brand)}</span> <span className="soft">·· {last4}</span>
      {wallet && <span className="wallet-mark">{walletNames[wallet] ?? wallet}</span>}
    </span>
  );
}
