/** Details of the operations that read payouts and settlement, which their annotations leave open. */
import type { OperationDetails } from "../../transcoder/openapi/describe-operation.ts";
import { payoutLinesResponse, payoutResponse, settlementsResponse } from "./api-examples.ts";
import { errorResponses, limitHeaders } from "./error-responses.ts";

const header = (name: string) => ({ $ref: `#/components/headers/${name}` });
const example = (summary: string, value: unknown) => ({ example: { summary, value } });
const withSecretKey = { secretKey: [] };

export const settlementOperations: Readonly<Record<string, OperationDetails>> = {
  listPayouts: {
    summary: "List payouts",
    successDescription: "One page of payouts.",
    successHeaders: { "Request-Id": header("Request-Id"), ...limitHeaders },
    links: {
      nextPage: {
        operationId: "listPayouts",
        parameters: { pageToken: "$response.body#/nextPageToken" },
        description: "The next page, with the same filters.",
      },
    },
    security: [withSecretKey],
    responseExamples: example("The last page", { payouts: [payoutResponse] }),
    errors: errorResponses(["any", "secretKey"]),
  },
  getPayout: {
    summary: "Read a payout",
    successDescription: "The payout.",
    successHeaders: { "Request-Id": header("Request-Id"), ...limitHeaders },
    security: [withSecretKey],
    responseExamples: example("A payout that adds up", payoutResponse),
    errors: errorResponses(["any", "secretKey", "lookup"]),
  },
  listPayoutLines: {
    summary: "List lines of statements",
    successDescription: "One page of lines.",
    successHeaders: { "Request-Id": header("Request-Id"), ...limitHeaders },
    links: {
      nextPage: {
        operationId: "listPayoutLines",
        parameters: { pageToken: "$response.body#/nextPageToken" },
        description: "The next page, with the same filters.",
      },
    },
    security: [withSecretKey],
    responseExamples: example("A captured payment", payoutLinesResponse),
    errors: errorResponses(["any", "secretKey"]),
  },
  listSettlements: {
    summary: "List what is settled",
    successDescription: "One page of movements.",
    successHeaders: { "Request-Id": header("Request-Id"), ...limitHeaders },
    links: {
      nextPage: {
        operationId: "listSettlements",
        parameters: { pageToken: "$response.body#/nextPageToken" },
        description: "The next page, with the same filters.",
      },
    },
    security: [withSecretKey],
    responseExamples: example("Paid, and not due yet", settlementsResponse),
    errors: errorResponses(["any", "secretKey"]),
  },
};
