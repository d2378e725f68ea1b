/** The names of gateways and cards, each beside a neutral drawing of our own, not a trademark. */
import { nameOfBrand } from "./card-brand.ts";
import { nameOfGateway } from "./gateway-name.ts";

/** Returns the two letters of a gateway's mark: Sandbox A is SA, PayPal is Pa. */
function lettersOf(gateway: string): string {
  const [first = "", second] = nameOfGateway(gateway).split(" ");
  return second === undefined ? first.slice(0, 2) : first.slice(0, 1) + second.slice(0, 1);
}

/** A gateway's mark and name. */
export function Gateway({ gateway }: { gateway: string }) {
  return (
    <span className="gateway">
      <span className="gateway-mark" data-letters={lettersOf(gateway)} aria-hidden="true" />
      {nameOfGateway(gateway)}
    </span>
  );
}

/** A card's brand and last digits. */
export function CardFace({ brand, last4 }: { brand: string; last4: string }) {
  return (
    <span className="card-face">
      <svg className="card-mark" viewBox="0 0 24 16" aria-hidden="true">
        <rect x="0.5" y="0.5" width="23" height="15" rx="2.5" />
        <path d="M1 5h22M4 11.5h5" />
      </svg>
      {nameOfBrand(brand)} <span className="soft">·· {last4}</span>
    </span>
  );
}
