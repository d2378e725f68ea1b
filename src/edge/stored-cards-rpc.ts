/** The rpcs about stored cards and agreements of merchants' backends: proto ↔ core. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type AgreementService,
  CancelAgreementResponseSchema,
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
import { createSetUp } from "../core/stored-cards/set-ups.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { callerKey, momentOf, readIdempotencyKey, requestIdKey, requireMerchant } from "./caller.ts";
import { chargeService } from "./charge-rpc.ts";
import { describeCreated, lateCellsOf, setCreatedHeaders } from "./payments-rpc.ts";
import { createRecoveryService } from "./recovery-rpc.ts";
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
  return { ...agreementService, ...chargeService, ...createRecoveryService(apiOrigin) };
}

const agreementService: Omit<ServiceImpl<typeof AgreementService>, "chargeAgreement" | "createRecoveryLink"> = {
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
};

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
