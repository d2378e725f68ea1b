/** Answers to disputes by members and operators: proto ↔ disputes. */
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { DisputeService } from "../../gen/dashboard/v1/disputes_pb.ts";
import { decideDispute, linkRefund } from "../disputes/decide-dispute.ts";
import { addFile, type DisputeFile, listFiles } from "../disputes/dispute-files.ts";
import { factsName } from "../disputes/facts.ts";
import {
  evidenceOf,
  loadFacts,
  loadOptions,
  prepareResponse,
  type ResponseRequest,
} from "../disputes/prepare-response.ts";
import { recordResponse } from "../disputes/respond.ts";
import { encodeId } from "../platform/ids.ts";
import { lockCap } from "../refunds/daily-limit.ts";
import { requireRoleLimit } from "./refunds-rpc.ts";
import { scopedContextOf } from "./rpc-context.ts";
import { requireId } from "./webhook-messages.ts";

type Named = { readonly sessionId: string; readonly disputeId: string };

/** The rpcs that answer disputes. Each change writes an audit row. */
export const disputeService: ServiceImpl<typeof DisputeService> = {
  async getDisputeOptions(request, context) {
    const { core, name } = namedIn(request, context);
    const { accept, takesExplanation, defenses } = await loadOptions(core, name);
    const files = await listFiles(core.database, name.id);
    return {
      options: {
        accept,
        takesExplanation,
        defenses: defenses.map(({ code, documentTypes }) => ({
          ...(code && { code }),
          documentTypes: [...documentTypes],
        })),
      },
      files: files.map(fileMessage),
    };
  },

  async getDisputeFacts(request, context) {
    const { core, name } = namedIn(request, context);
    return { facts: { name: factsName, contentType: "application/pdf", content: await loadFacts(core, name) } };
  },

  async addDisputeFile(request, context) {
    const { core, name, scoped } = namedIn(request, context);
    const { name: fileName = "", contentType = "", content = new Uint8Array() } = request.file ?? {};
    const { environment, rpcContext } = scoped;
    const added = await rpcContext.changeEnvironment(environment, async (tx) => {
      const file = await addFile(tx, core, name, { name: fileName, contentType, content });
      const { sizeBytes, sha256 } = file;
      const after = {
        sessionId: request.sessionId,
        file: encodeId("file", file.id),
        name: fileName,
        sizeBytes,
        sha256,
      };
      await rpcContext.audit(tx, { subject: request.disputeId, after });
      return file;
    });
    return { file: fileMessage(added) };
  },

  async acceptDispute(request, context) {
    await answer(request, { type: "ACCEPT" }, context);
    return {};
  },

  async submitEvidence(request, context) {
    const { defense, explanation, shipping, files = [] } = request.evidence ?? {};
    await answer(request, evidenceOf({ defense, explanation, shipping, files }), context);
    return {};
  },

  async decideDispute(request, context) {
    const { core, name, scoped } = namedIn(request, context);
    const { rpcContext, change } = scoped;
    const word = { status: request.won ? "WON" : "LOST", by: rpcContext.actor, reason: request.reason } as const;
    await change(async (tx) => {
      const { status } = await decideDispute(tx, core, name, word);
      const after = { sessionId: request.sessionId, status: word.status, reason: word.reason };
      await rpcContext.audit(tx, { subject: request.disputeId, before: { status }, after });
    });
    return {};
  },

  async linkDisputeRefund(request, context) {
    const { core, name, scoped } = namedIn(request, context);
    const { rpcContext, change } = scoped;
    const { sessionId, refundId, reason } = request;
    const word = { refundId: requireId("ref", refundId, "refund"), by: rpcContext.actor, reason };
    await change(async (tx) => {
      await linkRefund(tx, core, name, word);
      await rpcContext.audit(tx, { subject: request.disputeId, after: { sessionId, refundId, reason } });
    });
    return {};
  },
};

function namedIn({ sessionId, disputeId }: Named, context: HandlerContext) {
  const scoped = scopedContextOf(context);
  const { merchantId, environment } = scoped;
  const core = { ...environment.core, database: environment.database };
  const name = {
    merchantId,
    sessionId: requireId("ps", sessionId, "payment"),
    id: requireId("dsp", disputeId, "dispute"),
  };
  return { core, name, scoped };
}

/** Records an answer. A worker sends it. */
async function answer(request: Named, given: ResponseRequest, context: HandlerContext): Promise<void> {
  const { core, name, scoped } = namedIn(request, context);
  const { rpcContext, environment } = scoped;
  const prepared = await prepareResponse(core, name, given);
  await rpcContext.changeEnvironment(environment, async (tx) => {
    if (rpcContext.isMember) await lockCap(tx, rpcContext.signIn.member.id);
    const madeBy = rpcContext.actor;
    const made = await recordResponse(tx, core, name, { prepared, madeBy, isTaken: false });
    const { sessionId } = request;
    if (made === undefined) return rpcContext.leaveNoRow();
    const { type, amount } = made;
    if (amount) await requireRoleLimit(tx, context, amount);
    const evidence = given.type === "EVIDENCE" && { defense: given.defense, documents: prepared.documents.length };
    await rpcContext.audit(tx, { subject: request.disputeId, after: { sessionId, type, ...amount, ...evidence } });
  });
}

function fileMessage({ id, ...file }: DisputeFile) {
  return { fileId: encodeId("file", id), ...file };
}
