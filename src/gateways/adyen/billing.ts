/**
 * The billing address as Adyen takes it: whole or not at all. It needs the house number apart, a code for the state in
 * the United States and in Canada, and five digits for a ZIP code (the OpenAPI file, `BillingAddress`).
 */
import { withoutPlaceholders } from "../../card-vault/card-vault.ts";
import type { AuthorizeRequest, BillingAddress } from "../connector.ts";

/** Returns the field with the address; nothing for an address that Adyen would refuse, which would cost the payment. */
export function billingFields({ billingAddress }: Pick<AuthorizeRequest, "billingAddress">): object {
  if (billingAddress === undefined) return {};
  const { city, country } = billingAddress;
  const postalCode = postalCodeOf(billingAddress);
  const stateOrProvince = stateOf(billingAddress);
  const needsState = country === "US" || country === "CA";
  if (postalCode === undefined || (needsState && stateOrProvince === undefined)) return {};
  return {
    billingAddress: {
      ...streetOf(billingAddress),
      city: withoutPlaceholders(city),
      postalCode,
      ...(stateOrProvince !== undefined && { stateOrProvince }),
      country,
    },
  };
}

const postalCodeCharactersMax = 10;

function postalCodeOf({ country, postalCode }: BillingAddress): string | undefined {
  if (country === "US") return /^\d{5}/.exec(postalCode)?.[0];
  const plain = withoutPlaceholders(postalCode);
  return [...plain].length <= postalCodeCharactersMax ? plain : undefined;
}

function stateOf({ region }: BillingAddress): string | undefined {
  return region !== undefined && /^[A-Z0-9]{1,3}$/.test(region) ? region : undefined;
}

/** Returns street and house number; a number at neither end of the line is left in the street. */
function streetOf({ line1, line2 }: BillingAddress): { readonly street: string; readonly houseNumberOrName: string } {
  const line = withoutPlaceholders(line1).trim();
  const before = /^(\d+[a-zA-Z]?) (.*\p{L}.*)$/u.exec(line);
  const behind = /^(.*\p{L}.*) (\d+ ?[a-zA-Z]?)$/u.exec(line);
  const [street, number] = behind ? [behind[1], behind[2]] : before ? [before[2], before[1]] : [line, undefined];
  const rest = line2 === undefined ? undefined : withoutPlaceholders(line2);
  return { street: street!, houseNumberOrName: number ?? rest ?? "N/A" };
}
