/**
 * Properties that gateways document and the pinned OpenAPI files lack, each with its source. They count as if the files
 * had them.
 */
import type { SpecDocument } from "./spec-operation.ts";
import type { Json } from "./spec-schemas.ts";

type Supplement = {
  /** The names that lead to the schema from the top of the file. */
  readonly within: readonly string[];
  readonly property: string;
  /** The place to which the property is added; `properties` by default. */
  readonly in?: "responses";
  readonly is: Json;
  readonly source: string;
};

const form = ["requestBody", "content", "application/x-www-form-urlencoded", "schema"];
const cardOptions = ["properties", "payment_method_options", "properties", "card", "anyOf", "0"];
const string = { type: "string" };

const supplements: Readonly<Record<string, readonly Supplement[]>> = {
  "paypal-disputes": [
    ["paths", "/v1/customer/disputes/{id}/accept-claim", "post", "requestBody"],
    ["components", "requestBodies", "evidences"],
  ].map((within) => ({
    within: [...within, "content", "multipart/form-data", "schema"],
    property: "input",
    is: string,
    source:
      "the JSON of a call, for which the file has no part: https://www.volcengine.com/article/1135360 (2026), as in PayPal's own examples; not confirmed by PayPal",
  })),
  "stripe-disputes": [
    ["/v1/disputes/{dispute}", "post"],
    ["/v1/disputes/{dispute}/close", "post"],
  ].map((within) => ({
    within: ["paths", ...within],
    property: "default",
    in: "responses",
    is: { content: { "application/json": { schema: { type: "object", required: ["error"] } } } },
    source: "https://docs.stripe.com/api/errors (2026)",
  })),
  stripe: [
    {
      within: ["paths", "/v1/payment_intents/{intent}/confirm", "post", ...form, ...cardOptions],
      property: "three_d_secure",
      is: {
        type: "object",
        required: ["cryptogram", "transaction_id", "version"],
        properties: {
          version: { type: "string", enum: ["1.0.2", "2.1.0", "2.2.0"] },
          cryptogram: { ...string, maxLength: 5000 },
          transaction_id: { ...string, maxLength: 5000 },
          electronic_commerce_indicator: { ...string, enum: ["01", "02", "05", "06", "07"] },
          ares_trans_status: { ...string, enum: ["A", "C", "I", "N", "R", "U", "Y"] },
          requestor_challenge_indicator: { ...string, maxLength: 2 },
          network_options: {
            type: "object",
            properties: {
              cartes_bancaires: {
                type: "object",
                required: ["cb_avalgo"],
                properties: {
                  cb_avalgo: { ...string, enum: ["0", "1", "2", "3", "4", "A"] },
                  cb_exemption: { ...string, maxLength: 4 },
                  cb_score: { type: "integer" },
                },
              },
            },
          },
        },
      },
      source:
        "https://docs.stripe.com/api/payment_intents/confirm#confirm_payment_intent-payment_method_options-card-three_d_secure (2026)",
    },
    {
      within: ["components", "schemas", "three_d_secure_details_charge"],
      property: "electronic_commerce_indicator",
      is: { type: "string", nullable: true, enum: ["01", "02", "05", "06", "07"] },
      source:
        "https://docs.stripe.com/api/charges/object#charge_object-payment_method_details-card-three_d_secure-electronic_commerce_indicator (2026)",
    },
    {
      within: ["components", "schemas", "three_d_secure_details_charge"],
      property: "transaction_id",
      is: { type: "string", nullable: true },
      source:
        "https://docs.stripe.com/api/charges/object#charge_object-payment_method_details-card-three_d_secure-transaction_id (2026)",
    },
    {
      within: ["components", "schemas", "payment_method_details_card"],
      property: "capture_before",
      is: { type: "integer", format: "unix-time" },
      source:
        "https://docs.stripe.com/api/charges/object#charge_object-payment_method_details-card-capture_before (2026)",
    },
    {
      within: ["components", "schemas", "payment_method_details_card"],
      property: "network_transaction_id",
      is: { type: "string", nullable: true, maxLength: 5000 },
      source:
        "https://docs.stripe.com/api/charges/object#charge_object-payment_method_details-card-network_transaction_id (2026)",
    },
  ],
  "paypal-orders": [
    {
      within: ["components", "schemas", "card_attributes"],
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

const json = "application/json";
const answer = (properties: Json) => ({
  responses: {
    "200": { content: { [json]: { schema: { type: "object", required: Object.keys(properties), properties } } } },
    default: { content: { [json]: { schema: { $ref: "#/components/schemas/error" } } } },
  },
});
const taking = (properties: Json) => ({
  requestBody: { content: { "application/x-www-form-urlencoded": { schema: { type: "object", properties } } } },
});

const setupIntent = {
  id: string,
  object: { enum: ["setup_intent"] },
  status: {
    enum: [
      "requires_payment_method",
      "requires_confirmation",
      "requires_action",
      "processing",
      "canceled",
      "succeeded",
    ],
  },
  payment_method: { ...string, nullable: true },
  next_action: { type: "object", nullable: true },
  last_setup_error: { type: "object", nullable: true },
};

/**
 * Operations that a file lacks, reduced to the fields that are sent and read, by the types of npm stripe 23.1.0 (2026),
 * Customers, SetupIntents and PaymentMethods. It is not verified that they are the same in the version of the file.
 */
const operations: Readonly<Record<string, SpecDocument["paths"]>> = {
  stripe: {
    "/v1/customers": {
      post: {
        ...taking({ metadata: { type: "object", additionalProperties: string } }),
        ...answer({ id: string, object: { enum: ["customer"] } }),
      },
    },
    "/v1/customers/{customer}": {
      delete: answer({ id: string, object: { enum: ["customer"] }, deleted: { enum: [true] } }),
    },
    "/v1/setup_intents": {
      post: {
        ...taking({
          customer: string,
          usage: { enum: ["off_session", "on_session"] },
          payment_method_types: { type: "array", items: string },
          metadata: { type: "object", additionalProperties: string },
        }),
        ...answer(setupIntent),
      },
    },
    "/v1/setup_intents/{intent}": { get: answer(setupIntent) },
    "/v1/setup_intents/{intent}/confirm": {
      post: {
        ...taking({ payment_method: string, return_url: string, payment_method_options: { type: "object" } }),
        ...answer(setupIntent),
      },
    },
    "/v1/setup_intents/{intent}/cancel": {
      post: { ...taking({ cancellation_reason: { enum: ["abandoned"] } }), ...answer(setupIntent) },
    },
    "/v1/payment_methods/{payment_method}/detach": {
      post: answer({ id: string, object: { enum: ["payment_method"] }, customer: { type: "null" } }),
    },
  },
};

function withOperations(name: string, document: SpecDocument): SpecDocument {
  const added = operations[name] ?? {};
  const known = Object.keys(added).find((path) => path in document.paths);
  if (known !== undefined) throw new Error(`${name}.json: ${known}: remove the supplement`);
  return { ...document, paths: { ...document.paths, ...added } };
}

/** Returns a file with the operations and properties that it lacks. Throws for one that it has by now. */
export function supplemented(name: string, document: SpecDocument): SpecDocument {
  return (supplements[name] ?? []).reduce<SpecDocument>(
    (file, { within, property, is, in: place = "properties" }) => {
      const title = `${name}.json: ${within.join("/")}.${property}`;
      return withProperty(file as unknown as Json, within, { property, is, place, title }) as unknown as SpecDocument;
    },
    withOperations(name, document),
  );
}

type Added = Pick<Supplement, "property" | "is"> & { readonly place: string; readonly title: string };

/** Returns a copy with an additional property of a schema; copies only the path to it. */
function withProperty(node: Json, [next, ...rest]: readonly string[], added: Added): Json {
  if (next !== undefined) {
    const child = node[next] as Json | undefined;
    if (child === undefined) throw new Error(`${added.title}: there is no ${next}`);
    const changed = withProperty(child, rest, added);
    return (Array.isArray(node) ? node.with(Number(next), changed) : { ...node, [next]: changed }) as Json;
  }
  const properties = node[added.place] as Json | undefined;
  if (properties === undefined || added.property in properties)
    throw new Error(`${added.title}: remove the supplement`);
  return { ...node, [added.place]: { ...properties, [added.property]: added.is } };
}
