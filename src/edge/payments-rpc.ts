/** The calls of merchants' backends: proto ↔ core, one short method an rpc. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { GetMetaResponseSchema, type MetaService } from "../../gen/payments/v1/meta_pb.ts";
import {
  CancelPaymentSessionResponseSchema,
  CapturePaymentSessionResponseSchema,
  CreatePaymentSessionResponseSchema,
  GetPaymentSessionResponseSchema,
  ListPaymentSessionsResponseSchema,
  PaymentSession_Status,
  type PaymentSessionService,
} from "../../gen/payments/v1/payment_session_pb.ts";
import { chargesStoredCards, type Right, requireAnyRight } from "../accounts/rights.ts";
import { cancelSession, captureHeld } from "../core/capture-later.ts";
import type { Core } from "../core/core.ts";
import { type CreatedSession, createSession, findCreatedSession, type NewSession } from "../core/create-session.ts";
import { type SessionStatus, sessionStatuses } from "../core/rows/entities.ts";
import { endUnsubmitted } from "../core/session-changes.ts";
import { findSession } from "../core/sessions.ts";
import type { WalletName } from "../platform/card-token.ts";
import { cellOf, findCell, requireCell } from "../platform/cells.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId, type MerchantId, type SessionId } from "../platform/ids.ts";
import { listSessions } from "../reporting/session-list.ts";
import { statusOverrideKey } from "../transcoder/transcoder.ts";
import {
  callerKey,
  type EdgeEnvironment,
  momentOf,
  readIdempotencyKey,
  requestIdKey,
  requireMerchant,
  requireSession,
  sessionFacts,
} from "./caller.ts";
import { toSessionMessage, toSummaryMessage } from "./session-messages.ts";
import { termsOf } from "./stored-card-messages.ts";

/** The session rpcs of a merchant's backend; every method sees its own merchant and environment only. */
export const paymentSessionService: ServiceImpl<typeof PaymentSessionService> = {
  async createPaymentSession(request, context) {
    const caller = requireMerchant(context.values.get(callerKey));
    const { environment, holder } = caller;
    // The client secret in the answer would pay with any card of the customer.
    if (request.storedCardSecurityCode === "skip")
      requireAnyRight([chargesStoredCards], holder.rights, "storedCardSecurityCode");
    const key = readIdempotencyKey(context.requestHeader);
    const finishSpan = environment.core.tracing.begin();
    const order = {
      ...request,
      amountMinor: Number(request.amountMinor),
      captureBy: momentOf("captureBy", request.captureBy),
      replaces: request.replaces === undefined ? undefined : requireSession(request.replaces, context, "replaces"),
      allowRepeatedOrder: request.allowRepeatedOrder,
      saveCard: request.saveCard && { agreement: request.saveCard.agreement && termsOf(request.saveCard.agreement) },
      requestId: decodeId("req", context.values.get(requestIdKey)),
    };
    const created =
      (await findInFormerCells(caller, order, key)) ?? (await createSession(environment.core, holder, order, key));
    const { session, replayed } = created;
    environment.requestLimits?.expectCustomer(session.id, holder.merchantId);
    // The session's trace begins here: its first span has the session's id, which is known only now. A repeat is below it.
    finishSpan("session.create", {
      of: { session: session.id },
      ...(replayed ? {} : { id: session.id }),
      kind: "server",
      link: context.requestHeader.get("traceparent"),
      facts: () => ({
        ...sessionFacts(environment, context, session.id),
        replayed: replayed ? "true" : undefined,
      }),
    });
    setCreatedHeaders(context, encodeId("ps", session.id), created.replayed);
    return create(CreatePaymentSessionResponseSchema, describeCreated(created));
  },

  async getPaymentSession(request, context) {
    const { environment, holder } = requireMerchant(context.values.get(callerKey));
    const sessionId = decodeId("ps", request.sessionId);
    const cell = sessionId === undefined ? undefined : findCell(environment, cellOf(sessionId));
    const found = sessionId && cell && (await findSession(cell.core, { sessionId, merchantId: holder.merchantId }));
    if (!found) throw new DomainError("not_found", "There is no payment session with this id.");
    return create(GetPaymentSessionResponseSchema, { paymentSession: toSessionMessage(found) });
  },

  async capturePaymentSession(request, context) {
    const { core, ...held } = requireSession(request.sessionId, context);
    const amountMinor = request.amountMinor === undefined ? undefined : Number(request.amountMinor);
    const captured = await captureHeld(core, { ...held, amountMinor, signal: context.signal });
    return create(CapturePaymentSessionResponseSchema, { paymentSession: toSessionMessage(captured) });
  },

  async cancelPaymentSession(request, context) {
    const { core, ...held } = requireSession(request.sessionId, context);
    await requireCancellable(core, held, requireMerchant(context.values.get(callerKey)));
    const cancelled = await cancelSession(core, held);
    return create(CancelPaymentSessionResponseSchema, { paymentSession: toSessionMessage(cancelled) });
  },

  async listPaymentSessions(request, context) {
    const caller = requireMerchant(context.values.get(callerKey));
    const { environment, holder } = caller;
    const { orderRef, customerEmail, processing, pageSize, pageToken, createdAfter, createdBefore, wallet } = request;
    const cells = [environment, ...formerCellsOf(caller)];
    const page = await listSessions(
      cells.map(({ reads }) => reads),
      {
        merchantId: holder.merchantId,
        filters: {
          orderRef,
          customerEmail,
          processing,
          ...(request.kind === "setup" && { isSetUp: true }),
          wallet: wallet as WalletName | undefined,
          status: statusOf(request.status),
          createdAfter: momentOf("createdAfter", createdAfter),
          createdBefore: momentOf("createdBefore", createdBefore),
        },
        pageSize,
        pageToken,
        keys: environment.core.pageTokenKey,
        now: environment.core.runtime.now(),
      },
    );
    return create(ListPaymentSessionsResponseSchema, {
      paymentSessions: page.sessions.map(toSummaryMessage),
      ...(page.nextPageToken !== undefined && { nextPageToken: page.nextPageToken }),
    });
  },
};

/**
 * Ends an unsubmitted session for a caller without the right to cancel others. Throws `right_not_granted` for a payment
 * that is not over.
 */
async function requireCancellable(
  core: Core,
  own: { readonly sessionId: SessionId; readonly merchantId: MerchantId },
  { holder: { rights } }: MerchantCaller,
): Promise<void> {
  if (rights === null || rights.includes(cancelsHeld)) return;
  const ended = { because: "CANCELLED", successor: null } as const;
  if (await core.database.transaction((tx) => endUnsubmitted(tx, core, own, ended))) return;
  const found = await findSession(core, own);
  if (found?.session.status === "CREATED") requireAnyRight([cancelsHeld], rights);
}

const cancelsHeld: Right = "payments.capture";

/** Returns what the answer to a creation shows of a session. */
export function describeCreated({ session, clientSecret, vault, agreementId }: CreatedSession) {
  return {
    sessionId: encodeId("ps", session.id),
    clientSecret: clientSecret.expose(),
    status: PaymentSession_Status.CREATED,
    expiresAt: timestampFromDate(session.expiresAt),
    vault: vault as JsonObject,
    orderRef: session.orderRef,
    amountMinor: BigInt(session.amountMinor),
    currency: session.currency,
    ...(agreementId && { agreementId: encodeId("agr", agreementId) }),
  };
}

type MerchantCaller = ReturnType<typeof requireMerchant>;

function formerCellsOf({ environment, holder }: MerchantCaller): EdgeEnvironment[] {
  return holder.formerCells.map((cell) => requireCell(environment, cell));
}

/** Returns the cells in which a key may have created a session before the merchant moved here: a repeat must not create another. */
export function lateCellsOf(caller: MerchantCaller): Core[] {
  return caller.holder.movedLately ? formerCellsOf(caller).map(({ core }) => core) : [];
}

async function findInFormerCells(
  caller: MerchantCaller,
  order: NewSession,
  key: string | undefined,
): Promise<CreatedSession | undefined> {
  if (key === undefined) return undefined;
  for (const core of lateCellsOf(caller)) {
    const created = await findCreatedSession(core, caller.holder, order, key);
    if (created !== undefined) return created;
  }
  return undefined;
}

export function setCreatedHeaders(context: HandlerContext, sessionId: string, replayed: boolean): void {
  context.values.set(statusOverrideKey, 201);
  context.responseHeader.set("Location", `/api/v1/payment-sessions/${sessionId}`);
  if (replayed) context.responseHeader.set("Idempotent-Replayed", "true");
}

function statusOf(status: PaymentSession_Status | undefined): SessionStatus | undefined {
  return sessionStatuses.find((name) => PaymentSession_Status[name] === status);
}

/** Creates the meta service, for liveness: it answers without credentials and without the database. */
export function createMetaService(options: {
  brand: string;
  version: string;
  now: () => Date;
}): ServiceImpl<typeof MetaService> {
  return {
    getMeta: () =>
      create(GetMetaResponseSchema, {
        service: options.brand,
        time: timestampFromDate(options.now()),
        version: options.version,
      }),
  };
}
