import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { AttemptDecision_Kind, type PaymentService } from "../../gen/dashboard/v1/payments_pb.ts";
import {
  confirmDecision,
  type DecidedAttempt,
  type DecisionChange,
  decideAttempt,
  type RecordedDecision,
  withdrawDecision,
} from "../core/execute/decisions.ts";
import type { Decision } from "../core/rows/entities.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decisionMessage } from "./payment-messages.ts";
import { scopedContextOf } from "./rpc-context.ts";
import { requireId } from "./webhook-messages.ts";

type Methods = "decideAttempt" | "confirmAttemptDecision" | "withdrawAttemptDecision";

/** The rpcs that decide, confirm and withdraw. Each writes an audit row with the state before and after. */
export function createDecisionMethods(): Pick<ServiceImpl<typeof PaymentService>, Methods> {
  return {
    async decideAttempt(request, context) {
      const { kind, gatewayReference, reason, noMoneyKept } = request;
      requireStatement(request);
      const { after } = await changeDecision(
        request,
        context,
        (tx, of, caller) => {
          requireMember(caller);
          const { by, takesTwo } = caller;
          return decideAttempt(tx, of, {
            decision: decisionOf(kind),
            reference: gatewayReference || null,
            reason,
            by,
            takesTwo,
            amountMinor: minorOf(request),
          });
        },
        noMoneyKept,
      );
      return { decision: decisionMessage(after!) };
    },

    async confirmAttemptDecision(request, context) {
      const { kind, gatewayReference } = request;
      const seen = { decision: decisionOf(kind), reference: gatewayReference || null, amountMinor: minorOf(request) };
      const { after } = await changeDecision(request, context, (tx, of, caller) => {
        requireMember(caller);
        return confirmDecision(tx, of, { ...seen, by: caller.by });
      });
      return { decision: decisionMessage(after!) };
    },

    async withdrawAttemptDecision(request, context) {
      await changeDecision(request, context, (tx, of) => withdrawDecision(tx, of));
      return {};
    },
  };
}

type Named = { readonly sessionId: string; readonly attemptId: string };
type Caller = { readonly by: string; readonly isMember: boolean; readonly takesTwo: boolean };

/** Changes a decision and audits it in one transaction. A decision about real money takes two people. */
async function changeDecision(
  { sessionId, attemptId }: Named,
  context: HandlerContext,
  change: (tx: Tx, of: DecidedAttempt, caller: Caller) => Promise<DecisionChange>,
  noMoneyKept = false,
): Promise<DecisionChange> {
  const { merchantId, environment, rpcContext, change: inTransaction } = scopedContextOf(context);
  const of = {
    merchantId,
    sessionId: requireId("ps", sessionId, "payment"),
    attemptId: requireId("att", attemptId, "attempt"),
  };
  const caller = { by: rpcContext.actor, isMember: rpcContext.isMember, takesTwo: environment.name === "live" };
  return inTransaction(async (tx) => {
    const changed = await change(tx, of, caller);
    const { before, after } = changed;
    await rpcContext.audit(tx, {
      subject: attemptId,
      before: before && recordOf(before),
      after: { sessionId, ...(after && recordOf(after)), ...(noMoneyKept && { noMoneyKept }) },
    });
    return changed;
  });
}

function recordOf(decided: RecordedDecision): object {
  const { decision, reference, amountMinor, currency, reason, decidedBy, confirmedBy, takesTwo } = decided;
  const amount = amountMinor === null ? {} : { amountMinor, currency };
  return { decision, reference, ...amount, reason, decidedBy, confirmedBy, takesTwo };
}

function minorOf({ amountMinor }: { readonly amountMinor?: bigint | undefined }): number | undefined {
  return amountMinor === undefined ? undefined : Number(amountMinor);
}

type Statement = {
  readonly kind: AttemptDecision_Kind;
  readonly gatewayReference: string;
  readonly noMoneyKept: boolean;
  readonly amountMinor?: bigint | undefined;
};

function requireStatement({ kind, gatewayReference, noMoneyKept, amountMinor }: Statement): void {
  const isCaptured = kind === AttemptDecision_Kind.CAPTURED;
  if (isCaptured !== (gatewayReference !== "")) {
    const rule = isCaptured ? "must name the payment at the gateway" : "is for a capture alone";
    throw new DomainError("invalid_field", `gatewayReference ${rule}.`, { field: "gatewayReference" });
  }
  if (!isCaptured && amountMinor !== undefined) {
    throw new DomainError("invalid_field", "amountMinor is for a capture alone.", { field: "amountMinor" });
  }
  if (!isCaptured && !noMoneyKept) {
    const detail = "noMoneyKept must state that nothing was captured, or that all of it was refunded.";
    throw new DomainError("invalid_field", detail, { field: "noMoneyKept" });
  }
}

function decisionOf(kind: AttemptDecision_Kind): Decision {
  return kind === AttemptDecision_Kind.CAPTURED ? "CAPTURED" : "GIVEN_UP";
}

/**
 * Requires a member where a decision takes two people. An operator may also be a member, and a token does not say whose
 * it is: one person could decide as an operator and confirm as a member.
 */
function requireMember({ takesTwo, isMember }: Caller): void {
  if (!takesTwo || isMember) return;
  throw new DomainError(
    "role_not_allowed",
    "In live, a member of the merchant must decide and another member must confirm, on the page of the payment.",
  );
}
