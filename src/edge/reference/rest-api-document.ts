/**
 * docs/openapi.json, which is served at /openapi.json: the REST API from its .proto files, and what they cannot
 * express.
 */
import { type DescService, getOption } from "@bufbuild/protobuf";
import { DisputeService } from "../../../gen/payments/v1/dispute_pb.ts";
import { EventService } from "../../../gen/payments/v1/event_pb.ts";
import { LedgerService } from "../../../gen/payments/v1/ledger_pb.ts";
import { MetaService } from "../../../gen/payments/v1/meta_pb.ts";
import { PaymentSessionService } from "../../../gen/payments/v1/payment_session_pb.ts";
import { RefundService } from "../../../gen/payments/v1/refund_pb.ts";
import { right } from "../../../gen/payments/v1/right_pb.ts";
import { SettlementService } from "../../../gen/payments/v1/settlement_pb.ts";
import { AgreementService, PaymentMethodService } from "../../../gen/payments/v1/stored_card_pb.ts";
import type { CommentOf } from "../../transcoder/openapi/component-schemas.ts";
import { describeApi } from "../../transcoder/openapi/describe-api.ts";
import type { OperationDetails } from "../../transcoder/openapi/describe-operation.ts";
import type { Schema } from "../../transcoder/openapi/value-schema.ts";
import {
  acceptedDisputeResponse,
  agreementResponse,
  agreementsResponse,
  answeredDisputeResponse,
  cancelledAgreementResponse,
  cancelledResponse,
  capturedResponse,
  captureRequest,
  chargeRequest,
  chargeResponse,
  createRefundRequest,
  createRequest,
  createResponse,
  disputeFactsResponse,
  disputeFileRequest,
  disputeFileResponse,
  disputeResponse,
  eventsResponse,
  evidenceRequest,
  ledgerResponse,
  listResponse,
  metaResponse,
  paymentMethodResponse,
  paymentMethodsResponse,
  payoutLinesResponse,
  payoutResponse,
  recoveryLinkRequest,
  recoveryLinkResponse,
  refundResponse,
  responseOptions,
  sessionResponse,
  settlementsResponse,
  setUpRequest,
  setUpResponse,
} from "./api-examples.ts";
import { errorExamples, errorResponses, errorSchema, fieldErrorSchema, limitHeaders } from "./error-responses.ts";
import { describeWebhooks, webhookParameters, webhookSchemas, webhookTag } from "./webhook-operations.ts";

/** The services that the REST API serves, in the order of the reference. */
export const restServices = [
  ...[
    PaymentSessionService,
    RefundService,
    DisputeService,
    PaymentMethodService,
    AgreementService,
    LedgerService,
    SettlementService,
    EventService,
    MetaService,
  ],
] as const;

const description = `Create a payment session on your backend, mount the widget with it, and verify the webhook.

- Amounts are whole numbers of minor units, times are RFC 3339 in UTC with three fraction digits. What is unset is absent, never null.
- Unknown fields, duplicate keys and wrong types are refused; all problems of a body are reported at once.
- Every answer has a \`Request-Id\`. Errors have one shape, and their \`type\` leads to the [error reference](/docs/errors).
- Lists are paged: pass \`nextPageToken\` of one page as \`pageToken\` for the next, with the same filters.`;

const header = (name: string) => ({ $ref: `#/components/headers/${name}` });
const example = (summary: string, value: unknown) => ({ example: { summary, value } });

const nextPage = (operationId: string, description = "The next page, with the same filters.") => ({
  nextPage: { operationId, parameters: { pageToken: "$response.body#/nextPageToken" }, description },
});

/** The parameters and headers of a call that creates something, by the names of components. */
const creation = (key: string, location: string) => ({
  successStatus: 201,
  parameters: [{ $ref: `#/components/parameters/${key}` }],
  successHeaders: {
    "Request-Id": header("Request-Id"),
    Location: header(location),
    "Idempotent-Replayed": header("Idempotent-Replayed"),
    ...limitHeaders,
  },
});

/** The default headers and security of a call. */
const withSecretKey = {
  successHeaders: { "Request-Id": header("Request-Id"), ...limitHeaders },
  security: [{ secretKey: [] }],
};

/** Details that the annotations leave open, by the name of the method. */
const details: Readonly<Record<string, OperationDetails>> = {
  createPaymentSession: {
    summary: "Create a session",
    ...creation("IdempotencyKey", "Location"),
    successDescription: "The session, and what the widget needs to show it.",
    links: {
      read: {
        operationId: "getPaymentSession",
        parameters: { sessionId: "$response.body#/sessionId" },
        description: "Read the session.",
      },
    },
    requestExamples: example("49.00 EUR", createRequest),
    responseExamples: example("A session to be paid", createResponse),
    errors: errorResponses(["any", "secretKey", "body", "idempotency", "storing"]),
  },
  getPaymentSession: {
    summary: "Read a session",
    successDescription: "The session.",
    responseExamples: example("Declined at the first gateway, paid at the second", sessionResponse),
    errors: errorResponses(["any", "secretKey", "lookup"]),
  },
  listPaymentSessions: {
    summary: "List sessions",
    successDescription: "One page of sessions.",
    links: nextPage("listPaymentSessions"),
    responseExamples: example("A page that is not the last", listResponse),
    errors: errorResponses(["any", "secretKey"]),
  },
  capturePaymentSession: {
    summary: "Capture a payment",
    successDescription:
      "The session: SUCCEEDED with `amountCapturedMinor`; CREATED with `processing` while the gateway has not answered; or DEGRADED if it refused the capture for good.",
    requestExamples: example("9.00 EUR of 49.00 EUR", captureRequest),
    responseExamples: example("Captured in part", capturedResponse),
    errors: errorResponses(["any", "secretKey", "body", "lookup", "held"]),
  },
  cancelPaymentSession: {
    summary: "Cancel a payment",
    successDescription: "The session: EXPIRED as `CANCELLED`, or of a held payment DECLINED with `capture_cancelled`.",
    responseExamples: example("Cancelled", cancelledResponse),
    errors: errorResponses(["any", "secretKey", "lookup", "cancel"]),
  },
  createRefund: {
    summary: "Create a refund",
    ...creation("RefundIdempotencyKey", "RefundLocation"),
    successDescription: "The refund. A repeat with the same key returns it as it stands.",
    requestExamples: example("9.00 EUR of 49.00 EUR", createRefundRequest),
    responseExamples: example("A refund that is on its way", refundResponse),
    errors: errorResponses(["any", "secretKey", "body", "lookup", "refund"]),
  },
  getRefund: {
    summary: "Read a refund",
    successDescription: "The refund.",
    responseExamples: example("A refund that is on its way", refundResponse),
    errors: errorResponses(["any", "secretKey", "lookup"]),
  },
  listPaymentMethods: {
    summary: "List stored cards",
    successDescription: "One page of stored cards.",
    responseExamples: example("A customer's only card", paymentMethodsResponse),
    errors: errorResponses(["any", "secretKey"]),
  },
  getPaymentMethod: {
    summary: "Read a stored card",
    successDescription: "The stored card.",
    responseExamples: example("A card that can pay", paymentMethodResponse),
    errors: errorResponses(["any", "secretKey", "lookup"]),
  },
  deletePaymentMethod: {
    summary: "Delete a stored card",
    successDescription: "The card is deleted, and the vault erases it.",
    responseExamples: example("Deleted", {}),
    errors: errorResponses(["any", "secretKey", "lookup"]),
  },
  createSetupSession: {
    summary: "Create a set-up",
    ...creation("IdempotencyKey", "Location"),
    successDescription: "The session, and what the widget needs to show it.",
    requestExamples: example("A card with an agreement", setUpRequest),
    responseExamples: example("A session that stores a card", setUpResponse),
    errors: errorResponses(["any", "secretKey", "body", "lookup", "idempotency", "storing", "setUp"]),
  },
  listAgreements: {
    summary: "List agreements",
    successDescription: "One page of agreements, without their charges.",
    responseExamples: example("A customer's only agreement", agreementsResponse),
    errors: errorResponses(["any", "secretKey"]),
  },
  getAgreement: {
    summary: "Read an agreement",
    successDescription: "The agreement.",
    responseExamples: example("Charged once", agreementResponse),
    errors: errorResponses(["any", "secretKey", "lookup"]),
  },
  cancelAgreement: {
    summary: "Cancel an agreement",
    successDescription: "The agreement: CANCELLED, unless it had ENDED before.",
    responseExamples: example("Cancelled", cancelledAgreementResponse),
    errors: errorResponses(["any", "secretKey", "lookup"]),
  },
  chargeAgreement: {
    summary: "Charge an agreement",
    ...creation("ChargeIdempotencyKey", "Location"),
    successDescription:
      "The session: SUCCEEDED, DECLINED or DEGRADED; CREATED with `processing` while no gateway has answered.",
    requestExamples: example("49.00 EUR", chargeRequest),
    responseExamples: example("Paid", chargeResponse),
    errors: errorResponses(["any", "secretKey", "body", "lookup", "charge"]),
  },
  createRecoveryLink: {
    summary: "Make a link to an unpaid charge",
    successDescription: "The link, which you send to the customer.",
    requestExamples: example("49.00 EUR", recoveryLinkRequest),
    responseExamples: example("Works for a week", recoveryLinkResponse),
    errors: errorResponses(["any", "secretKey", "body", "lookup", "link"]),
  },
  listDisputes: {
    summary: "List disputes",
    successDescription: "One page of disputes.",
    links: nextPage("listDisputes"),
    responseExamples: example("The last page", { disputes: [disputeResponse] }),
    errors: errorResponses(["any", "secretKey"]),
  },
  getDispute: {
    summary: "Read a dispute",
    successDescription: "The dispute.",
    responseExamples: example("A chargeback that needs an answer", disputeResponse),
    errors: errorResponses(["any", "secretKey", "lookup"]),
  },
  getResponseOptions: {
    summary: "Read the possible answers",
    successDescription: "What the gateway takes now.",
    responseExamples: example("A gateway with one defense", responseOptions),
    errors: errorResponses(["any", "secretKey", "lookup", "dispute"]),
  },
  acceptDispute: {
    summary: "Accept a dispute",
    successDescription: "The dispute. A repeat returns it as it stands.",
    responseExamples: example("Accepted", acceptedDisputeResponse),
    errors: errorResponses(["any", "secretKey", "lookup", "dispute"]),
  },
  addDisputeFile: {
    summary: "Store a file for a dispute",
    successStatus: 201,
    successDescription: "The file, whose id names it in the evidence.",
    requestExamples: example("A receipt", disputeFileRequest),
    responseExamples: example("A receipt", disputeFileResponse),
    errors: errorResponses(["any", "secretKey", "body", "lookup", "dispute"]),
  },
  getDisputeFacts: {
    summary: "Read the facts of a disputed payment",
    successDescription: "The file.",
    responseExamples: example("The file", disputeFactsResponse),
    errors: errorResponses(["any", "secretKey", "lookup"]),
  },
  submitEvidence: {
    summary: "Submit evidence for a dispute",
    successStatus: 201,
    successDescription: "The dispute. The same fields again return it as it stands.",
    requestExamples: example("Delivered", evidenceRequest),
    responseExamples: example("Under review", answeredDisputeResponse),
    errors: errorResponses(["any", "secretKey", "body", "lookup", "dispute"]),
  },
  listLedgerEntries: {
    summary: "List ledger entries",
    successDescription: "One page of the entries.",
    links: nextPage("listLedgerEntries", "The next page of the same days."),
    responseExamples: example("A capture, and a refund of a part", ledgerResponse),
    errors: errorResponses(["any", "secretKey"]),
  },
  listPayouts: {
    summary: "List payouts",
    successDescription: "One page of payouts.",
    links: nextPage("listPayouts"),
    responseExamples: example("The last page", { payouts: [payoutResponse] }),
    errors: errorResponses(["any", "secretKey"]),
  },
  getPayout: {
    summary: "Read a payout",
    successDescription: "The payout.",
    responseExamples: example("A payout that adds up", payoutResponse),
    errors: errorResponses(["any", "secretKey", "lookup"]),
  },
  listPayoutLines: {
    summary: "List lines of statements",
    successDescription: "One page of lines.",
    links: nextPage("listPayoutLines"),
    responseExamples: example("A captured payment", payoutLinesResponse),
    errors: errorResponses(["any", "secretKey"]),
  },
  listSettlements: {
    summary: "List what is settled",
    successDescription: "One page of movements.",
    links: nextPage("listSettlements"),
    responseExamples: example("Paid, and not due yet", settlementsResponse),
    errors: errorResponses(["any", "secretKey"]),
  },
  listEvents: {
    summary: "List events",
    successDescription: "The next events behind the cursor.",
    links: {
      nextPage: {
        operationId: "listEvents",
        parameters: { cursor: "$response.body#/nextCursor" },
        description: "The events behind these.",
      },
    },
    responseExamples: example("A payment that succeeded", eventsResponse),
    errors: errorResponses(["any", "secretKey", "cursor"]),
  },
  getMeta: {
    summary: "Check the service",
    successDescription: "The service is there.",
    successHeaders: { "Request-Id": header("Request-Id") },
    security: [],
    responseExamples: example("An installation", metaResponse),
    errors: errorResponses(["any"]),
  },
};

const components: Readonly<Record<string, Schema>> = {
  securitySchemes: {
    secretKey: {
      type: "http",
      scheme: "bearer",
      description:
        "The merchant's secret key, `switchyard_test_sk_…` or `switchyard_live_sk_…`, whose prefix names the environment, or a restricted key, `switchyard_test_rk_…`, which calls what its rights allow. It belongs on your backend only; on this page, use a test key.",
    },
  },
  parameters: {
    IdempotencyKey: {
      name: "Idempotency-Key",
      in: "header",
      description:
        "Makes a repeat safe: for 24 hours the same key with the same fields returns the first answer, byte for byte. Send one always, such as a UUID.",
      schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]([ -~]*[!-~])?$" },
      example: "order-1042-1",
    },
    RefundIdempotencyKey: {
      name: "Idempotency-Key",
      in: "header",
      required: true,
      description:
        "Names the refund: the same key for the same session is the same refund, for ever. Use one for each refund that you want to make, such as the id of the return in your system.",
      schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]([ -~]*[!-~])?$" },
      example: "return-77",
    },
    ChargeIdempotencyKey: {
      name: "Idempotency-Key",
      in: "header",
      required: true,
      description:
        "Names the try: the same key for the same agreement is the same try, for ever. Use a new one for each further try of a charge.",
      schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]([ -~]*[!-~])?$" },
      example: "2026-04-1",
    },
    ...webhookParameters,
  },
  headers: {
    "Request-Id": always(describeHeader("Names this request in our log.", "^req_[0-7][0-9a-hjkmnp-tv-z]{25}$")),
    Location: always(
      describeHeader("The path of the session.", "^/api/v1/payment-sessions/ps_[0-7][0-9a-hjkmnp-tv-z]{25}$"),
    ),
    RefundLocation: always(
      describeHeader(
        "The path of the refund.",
        "^/api/v1/payment-sessions/ps_[0-7][0-9a-hjkmnp-tv-z]{25}/refunds/ref_[0-7][0-9a-hjkmnp-tv-z]{25}$",
      ),
    ),
    "Idempotent-Replayed": describeHeader("`true` when this is the answer of an earlier request.", "^true$"),
    "Retry-After": always(describeHeader("Seconds after which a repeat is welcome.", "^[0-9]+$")),
    "Retry-After-Of-Some": describeHeader(
      "Seconds after which a repeat is welcome, where one can succeed.",
      "^[0-9]+$",
    ),
    "RateLimit-Policy": describeHeader(
      "The merchant's limit in this environment: `q` requests at once, and the seconds `w` in which as many become free. Absent where the operator has set none.",
      '^"api";q=[0-9]+;w=[0-9]+$',
    ),
    RateLimit: describeHeader(
      "What is left of it: `r` requests, and the seconds `t` until all are free again.",
      '^"api";r=[0-9]+;t=[0-9]+$',
    ),
    "WWW-Authenticate": always(describeHeader("`Bearer`.", "^Bearer$")),
  },
  examples: errorExamples(),
  schemas: { Error: errorSchema, FieldError: fieldErrorSchema },
};

function describeHeader(text: string, pattern?: string): Schema {
  return { description: text, schema: { type: "string", ...(pattern && { pattern }) } };
}

/** Marks a header as present on every answer that names it. */
function always(described: Schema): Schema {
  return { ...described, required: true };
}

const groups: Readonly<Record<string, string>> = {
  [PaymentSessionService.typeName]: "Payment sessions",
  [RefundService.typeName]: "Refunds",
  [DisputeService.typeName]: "Disputes",
  [PaymentMethodService.typeName]: "Stored cards",
  [AgreementService.typeName]: "Agreements",
  [LedgerService.typeName]: "Ledger",
  [SettlementService.typeName]: "Payouts and settlement",
  [EventService.typeName]: "Events",
  [MetaService.typeName]: "Service",
};

/** Appends to each method's comment the rights by which a restricted key calls it. */
function withRights(commentOf: CommentOf): CommentOf {
  return (desc) => {
    const rights = desc.kind === "rpc" ? getOption(desc, right).map((name) => `\`${name}\``) : [];
    const sentence = rights.length === 0 ? "" : `\n\nA restricted key needs the right ${rights.join(" or ")}.`;
    return commentOf(desc) + sentence;
  };
}

/** Writes the document. The services come with their comments, which those of gen/ have lost. */
export function restApiDocument(services: readonly DescService[], commentOf: CommentOf, version: string): Schema {
  const { components: described, ...api } = describeApi({
    info: {
      title: "Switchyard API",
      version,
      description,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "The installation that serves this document." }],
    services,
    commentOf: withRights(commentOf),
    detailsOf: (method) => ({ ...withSecretKey, ...details[method.localName]! }),
    groupOf: ({ typeName }) => groups[typeName]!,
    components,
  });
  const schemas = (described as { schemas: Record<string, Schema> }).schemas;
  return {
    ...api,
    tags: [...(api.tags as readonly Schema[]), webhookTag],
    webhooks: describeWebhooks(),
    components: { ...(described as object), schemas: { ...schemas, ...webhookSchemas(schemas.PaymentSession!) } },
  };
}
