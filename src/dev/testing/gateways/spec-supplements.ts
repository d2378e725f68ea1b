/**
 * Properties that gateways document and the pinned OpenAPI files lack, each with its source. They count as if they stood
 * in the files.
 */
import type { SpecDocument } from "./spec-operation.ts";
import type { Json } from "./spec-schemas.ts";

/** One property of a schema under `components`. */
type Supplement = {
  readonly schema: string;
  readonly property: string;
  readonly is: Json;
  readonly source: string;
};

const supplements: Readonly<Record<string, readonly Supplement[]>> = {
  stripe: [
    {
      schema: "three_d_secure_details_charge",
      property: "electronic_commerce_indicator",
      is: { type: "string", nullable: true, enum: ["01", "02", "05", "06", "07"] },
      source:
        "https://docs.stripe.com/api/charges/object#charge_object-payment_method_details-card-three_d_secure-electronic_commerce_indicator (2026)",
    },
    {
      schema: "three_d_secure_details_charge",
      property: "transaction_id",
      is: { type: "string", nullable: true },
      source:
        "https://docs.stripe.com/api/charges/object#charge_object-payment_method_details-card-three_d_secure-transaction_id (2026)",
    },
  ],
  "paypal-orders": [
    {
      schema: "card_attributes",
      property: "verification",
      is: {
        type: "object",
        properties: { method: { type: "string", enum: ["SCA_ALWAYS", "SCA_WHEN_REQUIRED"] } },
      },
      source:
        "https://developer.paypal.com/docs/checkout/advanced/customize/3d-secure/api/ (2026), step 1; https://developer.paypal.com/docs/api/orders/v2/#definition-card_verification (2026)",
    },
  ],
};

/** Returns a file with the properties that it lacks. Throws for one that it has by now. */
export function supplemented(name: string, document: SpecDocument): SpecDocument {
  const schemas: Record<string, Json> = { ...document.components.schemas };
  for (const { schema, property, is } of supplements[name] ?? []) {
    const { properties, ...rest } = schemas[schema] as Json & { readonly properties?: Json };
    if (properties === undefined || property in properties) {
      throw new Error(`${name}.json: remove the supplement ${schema}.${property}`);
    }
    schemas[schema] = { ...rest, properties: { ...properties, [property]: is } };
  }
  return { ...document, components: { ...document.components, schemas } };
}
