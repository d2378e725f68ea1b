/** The billing address as PayPal takes it with a card (the OpenAPI file of Orders v2, `address_portable`). */
import { withoutPlaceholders } from "../../card-vault/card-vault.ts";
import type { AuthorizeRequest } from "../connector.ts";

/** Returns the card's field with the address. The name in the card form is a separate field. */
export function billingFields({ billingAddress }: Pick<AuthorizeRequest, "billingAddress">): object {
  if (billingAddress === undefined) return {};
  const { line1, line2, city, postalCode, region, country } = billingAddress;
  return {
    billing_address: {
      address_line_1: withoutPlaceholders(line1),
      ...(line2 !== undefined && { address_line_2: withoutPlaceholders(line2) }),
      admin_area_2: withoutPlaceholders(city),
      ...(region !== undefined && { admin_area_1: withoutPlaceholders(region) }),
      postal_code: withoutPlaceholders(postalCode),
      country_code: country,
    },
  };
}
