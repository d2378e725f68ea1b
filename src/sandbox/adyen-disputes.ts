/**
 * Adyen's Disputes API: the OpenAPI file of DisputeService v30 (2026). The codes of defenses and documents are from its
 * page https://docs.adyen.com/risk-management/disputes-api/defense-reasons (2026). SANDBOX_B has the same API under
 * different paths.
 */
import type { AcquirerName, Authorization, Ledger } from "./ledger.ts";
import { losingResponses } from "./losing-answers.ts";
import type { Route, SandboxAnswer, SandboxRequest } from "./routes.ts";

type Json = Readonly<Record<string, unknown>>;
type RouteOf = (
  operation: string,
  handle: (json: Json, account: string) => SandboxAnswer,
) => Omit<Route, "path" | "method">;

const defenseReasons = [
  {
    defenseReasonCode: "AIRLINEFLIGHTPROVIDED",
    satisfied: false,
    defenseDocumentTypes: [
      { defenseDocumentTypeCode: "FlightTicketUsed", available: false, requirementLevel: "Required" },
      { defenseDocumentTypeCode: "DefenseMaterial", available: false, requirementLevel: "Optional" },
    ],
  },
  {
    defenseReasonCode: "SUPPLYDEFENSEMATERIAL",
    satisfied: true,
    defenseDocumentTypes: [
      { defenseDocumentTypeCode: "DefenseMaterial", available: false, requirementLevel: "Optional" },
    ],
  },
];

/** Returns the operations of the API under a path. `enter` signs a request in, and names its account. */
export function disputeServiceRoutes(
  { ledger, acquirer, path }: { readonly ledger: Ledger; readonly acquirer: AcquirerName; readonly path: string },
  routeOf: RouteOf,
): readonly Route[] {
  const supplied = new Map<string, string>();
  const paymentOf = (json: Json, account: string): Authorization | undefined => {
    const found = ledger.find(acquirer, account, String(json.disputePspReference).replace("dispute_", ""));
    return found?.disputed && found;
  };
  const served = (operation: string, handle: (payment: Authorization, json: Json) => SandboxAnswer): Route => {
    const route = routeOf(operation, (json, account) => {
      const payment = paymentOf(json, account);
      return payment ? handle(payment, json) : result(false, "The dispute was not found.");
    });
    return losingResponses(
      ledger,
      ({ body }: SandboxRequest) => ledger.record(/"dispute_(auth_[^"]+)"/.exec(body)?.[1] ?? ""),
      { ...route, method: "POST", path: new RegExp(`^${path}/${operation}$`) },
    );
  };
  const isOpen = (payment: Authorization) =>
    ledger
      .disputes(acquirer, payment.account)
      .some((one) => one.payment === payment && one.status === "needs_response");
  return [
    served("retrieveApplicableDefenseReasons", (payment) =>
      isOpen(payment) ? result(true, undefined, { defenseReasons }) : result(false, notOpen),
    ),
    served("supplyDefenseDocument", (payment, json) => {
      if (!isOpen(payment)) return result(false, notOpen);
      const documents = (Array.isArray(json.defenseDocuments) ? json.defenseDocuments : []) as readonly Json[];
      const words = documents.map(({ content }) => Buffer.from(String(content), "base64").toString("latin1"));
      supplied.set(payment.id, words.join());
      return result(true);
    }),
    served("defendDispute", (payment, { defenseReasonCode: code }) => {
      if (!defenseReasons.some((reason) => reason.defenseReasonCode === code))
        return result(false, "Unknown defense reason.");
      return ledger.answerDispute(payment, "evidence", supplied.get(payment.id))
        ? result(true)
        : result(false, notOpen);
    }),
    served("acceptDispute", (payment) =>
      ledger.answerDispute(payment, "accept") ? result(true) : result(false, notOpen),
    ),
  ];
}

const notOpen = "The dispute is not in a state in which it can be answered.";

function result(success: boolean, errorMessage?: string, more: Json = {}): SandboxAnswer {
  const disputeServiceResult = { success, ...(errorMessage !== undefined && { errorMessage }) };
  return { status: 200, body: { ...more, disputeServiceResult } };
}
