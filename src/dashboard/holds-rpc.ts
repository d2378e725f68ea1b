import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { PaymentService } from "../../gen/dashboard/v1/payments_pb.ts";
import { adoptCapturedByHand, orderCancel, orderCapture, type TakenHold } from "../core/capture-later.ts";
import { loadSession } from "../core/record/load-session.ts";
import type { Tx } from "../platform/database.ts";
import type { MerchantId, SessionId } from "../platform/ids.ts";
import { scopedContextOf } from "./rpc-context.ts";
import { requireId } from "./webhook-messages.ts";

/** The rpcs that capture and cancel held payments. Each writes an audit row; a worker calls the gateway. */
export function createHoldMethods(): Pick<ServiceImpl<typeof PaymentService>, "capturePayment" | "cancelPayment"> {
  return {
    async capturePayment(request, context) {
      const amountMinor = request.amountMinor === undefined ? undefined : Number(request.amountMinor);
      const { environment } = scopedContextOf(context);
      const done = await giveOrder(context, request, (tx, held) =>
        orderCapture(tx, environment.core, { ...held, amountMinor }),
      );
      return done;
    },

    async cancelPayment(request, context) {
      const { environment } = scopedContextOf(context);
      const done = await giveOrder(context, request, (tx, held) => orderCancel(tx, environment.core, held));
      return done;
    },
  };
}

type Held = { readonly merchantId: MerchantId; readonly sessionId: SessionId; readonly workMs: number };

/**
 * Gives an order about a held payment and audits it, unless it was given before. The hold is read at its gateway first: what
 * a person has captured there counts as the order.
 */
async function giveOrder(
  context: HandlerContext,
  request: { readonly sessionId: string; readonly reason: string },
  order: (tx: Tx, held: Held) => Promise<TakenHold | undefined>,
) {
  const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
  const sessionId = requireId("ps", request.sessionId, "payment");
  const database = rpcContext.transactingIn(environment);
  await adoptCapturedByHand({ ...environment.core, database }, { merchantId, sessionId });
  return change(async (tx) => {
    const taken = await order(tx, { merchantId, sessionId, workMs: 0 });
    const { session, attempts } = await loadSession(tx, sessionId);
    const held =
      attempts.find(({ id }) => id === (session.winnerAttemptId ?? taken?.attempt.id)) ??
      attempts.find(({ captureOrderedAt }) => captureOrderedAt !== null);
    const { gateway = "", capturedAmountMinor = null } = held ?? {};
    const amountMinor = capturedAmountMinor ?? session.amountMinor;
    const { currency } = session;
    const after = { amountMinor, currency, gateway, reason: request.reason };
    if (taken !== undefined) await rpcContext.audit(tx, { subject: request.sessionId, after });
    return { amountMinor: BigInt(amountMinor), currency, gateway, replayed: taken === undefined };
  });
}
