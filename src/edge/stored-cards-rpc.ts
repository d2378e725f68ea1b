/** The rpcs about stored cards and agreements of merchants' backends: proto ↔ core. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type AgreementService,
  CancelAgreementResponseSchema,
  ChargeAgreementResponseSchema,
  CreateRecoveryLinkResponseSchema,
  CreateSetupSessionResponseSchema,
  DeletePaymentMethodResponseSchema,
  GetAgreementResponseSchema,
  GetPaymentMethodResponseSchema,
  ListAgreementsResponseSchema,
  ListPaymentMethodsResponseSchema,
  type PaymentMethodService,
} from "../../gen/payments/v1/stored_card_pb.ts";
import { chargesStoredCards, requireAnyRight } from "../accounts/rights.ts";
import { cancelAgreement, findAgreement, listAgreements } from "../core/stored-cards/agreements.ts";
import { deleteMethod, findMethod, listMethods } from "../core/stored-cards/payment-methods.ts";
import { createRecoveryLink } from "../core/stored-cards/recovery/recovery-links.ts";
import { chargeAgreement } from "../core/stored-cards/renewals/charge-agreement.ts";
import { createSetUp } from "../core/stored-cards/set-ups.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import {
  callerKey,
  type EdgeEnvironment,
  momentOf,
  readIdempotencyKey,
  requestIdKey,
  requireMerchant,
} from "./caller.ts";
import { describeCreated, lateCellsOf, setCreatedHeaders } from "./payments-rpc.ts";
import { recoveryPath } from "./recovery-page.ts";
import { toSessionMessage } from "./session-messages.ts";
import { termsOf, toAgreementMessage, toPaymentMethodMessage } from "./stored-card-messages.ts";

/** The rpcs about stored cards; every method sees its own merchant and environment only. */
export const paymentMethodService: ServiceImpl<typeof PaymentMethodService> = {
  async createSetupSession(request, context) {
    const caller = requireMerchant(context.values.get(callerKey));
    const { environment, holder } = caller;
    const { customerRef, currency, saveCard } = request;
    if (request.agreementId !== undefined) requireAnyRight([chargesStoredCards], holder.rights, "agreementId");
    const agreementId = request.agreementId === undefined ? undefined : decodeId("agr", request.agreementId);
    if (request.agreementId !== undefined && agreementId === undefined) throw noSuchAgreement();
    const setUp = {
      customerRef,
      currency,
      agreementId,
      requestId: decodeId("req", context.values.get(requestIdKey)),
      saveCard: saveCard && { agreement: saveCard.agreement && termsOf(saveCard.agreement) },
    };
    const key = readIdempotencyKey(context.requestHeader);
    const created = await createSetUp(environment.core, holder, setUp, key, lateCellsOf(caller));
    environment.requestLimits?.expectCustomer(created.session.id, holder.merchantId);
    setCreatedHeaders(context, encodeId("ps", created.session.id), created.replayed);
    return create(CreateSetupSessionResponseSchema, describeCreated(created));
  },

  async listPaymentMethods(request, context) {
    const { core, ...wanted } = pageOf(request, context);
    const expiresBefore = momentOf("expiresBefore", request.expiresBefore);
    const { methods, nextPageToken } = await listMethods(core.database, { ...wanted, expiresBefore });
    return create(ListPaymentMethodsResponseSchema, {
      paymentMethods: methods.map((method) => toPaymentMethodMessage(method, wanted.now)),
      ...(nextPageToken !== undefined && { nextPageToken }),
    });
  },

  async getPaymentMethod(request, context) {
    const { core, merchantId } = ownerOf(context);
    const methodId = decodeId("pm", request.paymentMethodId);
    const method = methodId && (await findMethod(core.database, { merchantId, methodId }));
    if (!method) throw noSuchCard();
    const paymentMethod = toPaymentMethodMessage(method, core.runtime.now());
    return create(GetPaymentMethodResponseSchema, { paymentMethod });
  },

  async deletePaymentMethod(request, context) {
    const { core, merchantId } = ownerOf(context);
    const methodId = decodeId("pm", request.paymentMethodId);
    if (!methodId || !(await deleteMethod(core, { merchantId, methodId }))) throw noSuchCard();
    return create(DeletePaymentMethodResponseSchema);
  },
};

/** Creates the rpcs about agreements; every method sees its own merchant and environment only. `apiOrigin` is that of the public port. */
export function createAgreementService(apiOrigin: string): ServiceImpl<typeof AgreementService> {
  return {
    async listAgreements(request, context) {
      const { core, ...wanted } = pageOf(request, context);
      const { agreements, nextPageToken } = await listAgreements(core.database, wanted);
      return create(ListAgreementsResponseSchema, {
        agreements: agreements.map((agreement) => toAgreementMessage({ agreement, gateways: [], renewals: [] })),
        ...(nextPageToken !== undefined && { nextPageToken }),
      });
    },

    async getAgreement(request, context) {
      return create(GetAgreementResponseSchema, { agreement: await agreementOf(request.agreementId, context) });
    },

    async cancelAgreement(request, context) {
      const { core, merchantId } = ownerOf(context);
      const agreementId = decodeId("agr", request.agreementId);
      if (agreementId !== undefined) await cancelAgreement(core, { merchantId, agreementId }, "merchant");
      return create(CancelAgreementResponseSchema, { agreement: await agreementOf(request.agreementId, context) });
    },

    async chargeAgreement(request, context) {
      const { environment, holder } = requireMerchant(context.values.get(callerKey));
      const key = readIdempotencyKey(context.requestHeader);
      if (key === undefined) {
        const message = "A charge needs an Idempotency-Key, so that a repeat charges nothing twice.";
        throw new DomainError("missing_idempotency_key", message, { field: "Idempotency-Key" });
      }
      const agreementId = decodeId("agr", request.agreementId);
      if (agreementId === undefined) throw noSuchAgreement();
      const { amountMinor, currency, orderRef, renewalRef, statementDescriptor, metadata } = request;
      const { payment, replayed } = await chargeAgreement(environment.core, holder, {
        agreementId,
        currency,
        orderRef,
        renewalRef,
        statementDescriptor,
        metadata,
        key,
        amountMinor: Number(amountMinor),
        requestId: decodeId("req", context.values.get(requestIdKey)),
        signal: context.signal,
      });
      setCreatedHeaders(context, encodeId("ps", payment.session.id), replayed);
      return create(ChargeAgreementResponseSchema, { paymentSession: toSessionMessage(payment) });
    },

    async createRecoveryLink(request, context) {
      const { environment, holder } = requireMerchant(context.values.get(callerKey));
      const agreementId = decodeId("agr", request.agreementId);
      if (agreementId === undefined) throw noSuchAgreement();
      const { amountMinor, currency, orderRef, renewalRef, returnTo, expiresInHours } = request;
      if (returnTo !== undefined) requireReturnTo(environment, returnTo);
      const { token, expiresAt } = await createRecoveryLink(environment.core, {
        merchantId: holder.merchantId,
        agreementId,
        currency,
        orderRef,
        renewalRef,
        returnTo,
        expiresInHours,
        amountMinor: Number(amountMinor),
      });
      return create(CreateRecoveryLinkResponseSchema, {
        url: `${apiOrigin}${recoveryPath}#${token.expose()}`,
        expiresAt: timestampFromDate(expiresAt),
      });
    },
  };
}

function ownerOf(context: HandlerContext) {
  const { environment, holder } = requireMerchant(context.values.get(callerKey));
  return { core: environment.core, merchantId: holder.merchantId };
}

type PageRequest = {
  readonly customerRef?: string | undefined;
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
};

function pageOf({ customerRef, pageSize, pageToken }: PageRequest, context: HandlerContext) {
  const { core, merchantId } = ownerOf(context);
  const { pageTokenKey: keys, runtime } = core;
  return { core, merchantId, customerRef, pageSize, pageToken, keys, now: runtime.now() };
}

async function agreementOf(publicId: string, context: HandlerContext) {
  const { core, merchantId } = ownerOf(context);
  const agreementId = decodeId("agr", publicId);
  const found = agreementId && (await findAgreement(core, { merchantId, agreementId }));
  if (!found) throw noSuchAgreement();
  return toAgreementMessage(found);
}

function noSuchAgreement(): DomainError {
  return new DomainError("not_found", "There is no agreement with this id.");
}

function noSuchCard(): DomainError {
  return new DomainError("not_found", "There is no stored card with this id.");
}

function requireReturnTo({ name }: EdgeEnvironment, returnTo: string): void {
  const { protocol, hostname, username, password } = URL.canParse(returnTo) ? new URL(returnTo) : ({} as Partial<URL>);
  const isLocal = name === "test" && protocol === "http:" && (hostname === "localhost" || hostname === "127.0.0.1");
  if ((protocol === "https:" || isLocal) && !username && !password) return;
  const detail = "must be an https address without a user's name or password";
  const problem = { param: "returnTo", pointer: "/returnTo", code: "invalid_field", detail } as const;
  throw new DomainError("invalid_field", `returnTo ${detail}.`, { problems: [problem] });
}
