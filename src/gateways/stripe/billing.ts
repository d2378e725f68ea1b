/** The billing address as Stripe takes it with a card: banks compare it with theirs (AVS), and 3-D Secure sends it. */
import { withoutPlaceholders } from "../../card-vault/card-vault.ts";
import type { AuthorizeRequest } from "../connector.ts";
import type { Form } from "./api.ts";

/** Returns the address of the session; without one, the postal code that the customer entered with the card, if any. */
export function billingForm({ billingAddress }: Pick<AuthorizeRequest, "billingAddress">): Form {
  if (billingAddress === undefined) return { "billing_details[address][postal_code]": "{{card.postalCode}}" };
  const { line1, line2, city, postalCode, region, country } = billingAddress;
  return {
    "billing_details[address][line1]": withoutPlaceholders(line1),
    "billing_details[address][line2]": line2 && withoutPlaceholders(line2),
    "billing_details[address][city]": withoutPlaceholders(city),
    "billing_details[address][postal_code]": withoutPlaceholders(postalCode),
    "billing_details[address][state]": region && withoutPlaceholders(region),
    "billing_details[address][country]": country,
  };
}
