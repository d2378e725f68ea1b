/** The dispute rpcs of merchants' backends: proto ↔ disputes. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AcceptDisputeResponseSchema,
  AddDisputeFileResponseSchema,
  type DisputeService,
  GetDisputeFactsResponseSchema,
  GetDisputeResponseSchema,
  GetResponseOptionsResponseSchema,
  ListDisputesResponseSchema,
  SubmitEvidenceResponseSchema,
} from "../../gen/payments/v1/dispute_pb.ts";
import { Dispute_Stage, Dispute_Status } from "../../gen/payments/v1/payment_session_pb.ts";
import { disputeStages as stages, disputeStatuses as statuses } from "../core/rows/disputes.ts";
import { addFile, type DisputeFile } from "../disputes/dispute-files.ts";
import { factsName } from "../disputes/facts.ts";
import {
  evidenceOf,
  loadFacts,
  loadOptions,
  prepareResponse,
  type ResponseRequest,
  refusedByGateway,
} from "../disputes/prepare-response.ts";
import { recordResponse, runResponse } from "../disputes/respond.ts";
import { cellOf, requireCell } from "../platform/cells.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { lockCap, requireWithinCap } from "../refunds/daily-limit.ts";
import { findDispute, listDisputes } from "../reporting/dispute-list.ts";
import { statusOverrideKey } from "../transcoder/transcoder.ts";
import { callerKey, listingOf, momentOf, requireMerchant } from "./caller.ts";
import { toDisputeMessage } from "./dispute-messages.ts";
import { madeByKey } from "./refunds-rpc.ts";

type Context = Parameters<ServiceImpl<typeof DisputeService>["listDisputes"]>[1];

/** The dispute rpcs; every method sees its own merchant and environment only. */
export const disputeService: ServiceImpl<typeof DisputeService> = {
  async listDisputes(request, context) {
    const { merchantId, keys, now, databases } = listingOf(context);
    const { gateway, orderRef, pageSize, pageToken, respondBefore, createdAfter, createdBefore } = request;
    const { disputes, nextPageToken } = await listDisputes(databases, {
      merchantId,
      keys,
      now,
      pageSize,
      pageToken,
      filters: {
        gateway,
        orderRef,
        status: statuses.find((name) => Dispute_Status[name] === request.status),
        stage: stages.find((name) => Dispute_Stage[name] === request.stage),
        respondBefore: momentOf("respondBefore", respondBefore),
        createdAfter: momentOf("createdAfter", createdAfter),
        createdBefore: momentOf("createdBefore", createdBefore),
      },
    });
    return create(ListDisputesResponseSchema, {
      disputes: disputes.map((one) => toDisputeMessage(one, one)),
      ...(nextPageToken !== undefined && { nextPageToken }),
    });
  },

  async getDispute({ disputeId }, context) {
    const found = await requireDispute(disputeId, context);
    return create(GetDisputeResponseSchema, { dispute: toDisputeMessage(found, found) });
  },

  async getResponseOptions({ disputeId }, context) {
    const { core, name } = await toAnswer(disputeId, context);
    return create(GetResponseOptionsResponseSchema, { options: optionsMessage(await loadOptions(core, name)) });
  },

  async getDisputeFacts({ disputeId }, context) {
    const { core, name } = await toAnswer(disputeId, context);
    const facts = { name: factsName, contentType: "application/pdf", content: await loadFacts(core, name) };
    return create(GetDisputeFactsResponseSchema, { facts });
  },

  async addDisputeFile({ disputeId, ...file }, context) {
    const { core, name } = await toAnswer(disputeId, context);
    const added = await core.database.transaction((tx) => addFile(tx, core, name, file));
    context.values.set(statusOverrideKey, 201);
    return create(AddDisputeFileResponseSchema, { file: fileMessage(added) });
  },

  async acceptDispute({ disputeId }, context) {
    return create(AcceptDisputeResponseSchema, { dispute: await answer(disputeId, { type: "ACCEPT" }, context) });
  },

  async submitEvidence({ disputeId, ...evidence }, context) {
    const dispute = await answer(disputeId, evidenceOf(evidence), context);
    context.values.set(statusOverrideKey, 201);
    return create(SubmitEvidenceResponseSchema, { dispute });
  },
};

function optionsMessage({ accept, defenses, takesExplanation }: Awaited<ReturnType<typeof loadOptions>>) {
  return {
    accept,
    takesExplanation,
    defenses: defenses.map(({ code, documentTypes }) => ({ ...(code && { code }), documentTypes: [...documentTypes] })),
  };
}

function fileMessage({ id, ...file }: DisputeFile) {
  return { fileId: encodeId("file", id), ...file };
}

/** Records an answer, sends it, and waits for the gateway. If the caller does not wait, the process completes it. */
async function answer(disputeId: string, request: ResponseRequest, context: Context) {
  const { core, name, holder } = await toAnswer(disputeId, context);
  const { madeBy, cap } = madeByKey(holder);
  const prepared = await prepareResponse(core, name, request);
  const recorded = await core.database.transaction(async (tx) => {
    if (cap) await lockCap(tx, cap.keyId);
    const made = await recordResponse(tx, core, name, { prepared, madeBy, isTaken: true });
    if (cap && made && request.type === "ACCEPT") await requireWithinCap(tx, cap, made);
    return made;
  });
  if (recorded) {
    const running = runResponse(core, recorded);
    core.inFlight.add(running);
    await running.finally(() => core.inFlight.delete(running));
  }
  const found = await requireDispute(disputeId, context);
  const response = recorded && found.responses.find(({ id }) => id === recorded.id);
  if (response?.status === "REFUSED") {
    throw refusedByGateway(found, { code: response.failureCode, now: core.runtime.now() });
  }
  return toDisputeMessage(found, found);
}

async function requireDispute(disputeId: string, context: Context) {
  const { merchantId, databases } = listingOf(context);
  const id = decodeId("dsp", disputeId);
  const found = id && (await findDispute(databases, { merchantId, id }));
  if (!found) throw new DomainError("not_found", "There is no dispute with this id.");
  return found;
}

/** Returns a dispute of the caller's with the core of its cell. */
async function toAnswer(disputeId: string, context: Context) {
  const { environment, holder } = requireMerchant(context.values.get(callerKey));
  const { id, sessionId } = await requireDispute(disputeId, context);
  const cell = requireCell(environment, cellOf(sessionId));
  return { core: cell.core, name: { merchantId: holder.merchantId, sessionId, id }, holder };
}
