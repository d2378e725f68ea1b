/**
 * Answers disputes: an answer is committed before a byte leaves, sent with the same key until the gateway has it, and looked up first
 * where the gateway can be read.
 */
import type { Core } from "../core/core.ts";
import { capturedAtGateway } from "../core/execute/gateway-calls.ts";
import { loadSession, lockSession } from "../core/record/load-session.ts";
import { emitEvent } from "../core/record/settle.ts";
import { openWorkItem, resolveWorkItem } from "../core/record/work-items.ts";
import type { Dispute, DisputeResponse } from "../core/rows/disputes.ts";
import type { Attempt } from "../core/rows/entities.ts";
import { capturedOf, leftRefunds, type Payment } from "../core/rows/payment.ts";
import type { Evidence, ResponseAnswer, Shipping } from "../gateways/dispute-answers.ts";
import type { DisputeReading } from "../gateways/dispute-readings.ts";
import { followUpTimeoutMs } from "../limits.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import { type DisputeResponseId, encodeId, type SessionId } from "../platform/ids.ts";
import { seal, unseal } from "../platform/secrets.ts";
import { addFacts, type DisputeName, loadContents } from "./dispute-files.ts";
import { recordReading, reportOverlaps } from "./dispute-rows.ts";
import { factsName } from "./facts.ts";
import { isUnanswered, nextResponseStep, pauseMs } from "./next-response-step.ts";
import { bindAnswers, inEffect, type PreparedResponse, requireAnswerable } from "./prepare-response.ts";

/** A response as work: its session and its id. */
export type ResponseName = { readonly sessionId: SessionId; readonly id: DisputeResponseId };

type RecordedResponse = ResponseName & {
  readonly type: DisputeResponse["type"];
  /** The money that an acceptance gives up. */
  readonly amount: { readonly amountMinor: number; readonly currency: string; readonly createdAt: Date } | undefined;
};

// Uploads take longer than a look-up, and each answer has some.
const answerLeaseMs = 60_000;
const sendTimeoutMs = 12_000;
const unboundMs = 5 * 60_000;
const failureCodeCharactersMax = 100;

const insertResponse: Statement = {
  name: "insert_dispute_response",
  partitionKey: 1,
  text: "SELECT FROM app.insert_dispute_response($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
};
const countSend: Statement = {
  name: "send_dispute_response",
  partitionKey: 1,
  text: "SELECT * FROM app.send_dispute_response($1, $2, $3)",
};
const moveResponse: Statement = {
  name: "move_dispute_response",
  partitionKey: 1,
  text: "SELECT * FROM app.move_dispute_response($1, $2, $3, $4, $5)",
};
const takeDue: Statement = {
  name: "take_due_response",
  text: `SELECT session_id AS "sessionId", id FROM app.take_due_response($1)`,
};

/**
 * Records an answer for a worker to send, or for the caller if it has taken it up. Returns undefined for a repeat of
 * the response in effect. Throws as `prepareResponse` does for changes since then.
 */
export async function recordResponse(
  tx: Tx,
  core: Pick<Core, "sealing" | "runtime">,
  name: DisputeName,
  { prepared, madeBy, isTaken }: { prepared: PreparedResponse; madeBy?: string | undefined; isTaken: boolean },
): Promise<RecordedResponse | undefined> {
  const { sessionId } = name;
  const { request, requestHash, facts } = prepared;
  const loaded = (await lockSession(tx, sessionId))!;
  const dispute = loaded.disputes!.find((one) => one.id === name.id)!;
  if (inEffect(dispute, requestHash) === "same") return undefined;
  requireAnswerable(loaded, dispute, request);
  const id: DisputeResponseId = core.runtime.uuid();
  const documents = [...prepared.documents];
  if (facts) {
    const { content, type } = facts;
    const file = await addFacts(tx, core, name, { name: factsName, contentType: "application/pdf", content });
    const { id: ofFile, sizeBytes, sha256 } = file;
    documents.push({ file: ofFile, type, name: factsName, sizeBytes, sha256 });
  }
  const ofEvidence = request.type === "EVIDENCE" ? request : undefined;
  const content = ofEvidence && JSON.stringify({ explanation: ofEvidence.explanation, shipping: ofEvidence.shipping });
  await tx.query(insertResponse, [
    ...[sessionId, id, name.id, request.type, madeBy ?? null, requestHash, ofEvidence?.defense ?? null],
    ...[
      JSON.stringify(documents),
      content ? seal(core.sealing, placeOf(id), content) : null,
      isTaken ? answerLeaseMs : 0,
    ],
  ]);
  const recorded = findResponse(await loadSession(tx, sessionId), { id })!.response;
  const { type, amountMinor, currency, createdAt } = recorded;
  const amount = amountMinor !== null && currency !== null ? { amountMinor, currency, createdAt } : undefined;
  return { sessionId, id, type, amount };
}

/** Takes one answer that is due a step further. Returns true if there was one. */
export async function answerDueOnce(core: Core): Promise<boolean> {
  const [due] = await core.database.query<ResponseName>(takeDue, [answerLeaseMs]);
  if (due === undefined) return false;
  await runResponse(core, due);
  return true;
}

type Work = ResponseName & {
  readonly dispute: Dispute;
  readonly response: DisputeResponse;
  readonly loaded: Payment;
  readonly captured: Attempt;
  readonly bound: NonNullable<Awaited<ReturnType<typeof bindAnswers>>>;
};

/** Takes an answer that this process has taken up a step further. */
export async function runResponse(core: Core, name: ResponseName): Promise<void> {
  const loaded = await loadSession(core.database, name.sessionId);
  const found = findResponse(loaded, name);
  const captured = capturedOf(loaded);
  if (found === undefined || captured === undefined) return;
  const bound = await bindAnswers(core, found.dispute);
  if (bound === undefined) return postpone(core, { ...name, ...found, loaded }, unboundMs);
  const work: Work = { ...name, ...found, loaded, captured, bound };
  const step = nextResponseStep(found.dispute, found.response, { canRead: bound.disputes !== undefined });
  switch (step.type) {
    case "rest":
      return;
    case "end":
      return end(core, work, step.status, "response_closed");
    case "look":
      return look(core, work);
    case "send":
      return send(core, work);
    default:
      return unreachable(step);
  }
}

/** Looks whether an earlier request arrived, and sends it again if it did not. */
async function look(core: Core, work: Work): Promise<void> {
  const reading = await readDispute(core, work);
  if (reading === undefined) return postpone(core, work);
  return isAnsweredIn(reading, work.response) ? end(core, work, "TAKEN") : send(core, work);
}

async function send(core: Core, work: Work): Promise<void> {
  const { sessionId, id, response } = work;
  const evidence = response.type === "EVIDENCE" ? await evidenceOf(core, work) : undefined;
  if (response.type === "EVIDENCE" && evidence === undefined) return end(core, work, "REFUSED", "files_erased");
  // rule:dispute-commit-first
  if ((await core.database.query(countSend, [sessionId, id, answerLeaseMs])).length === 0) return;
  const answer = await ask(work, evidence);
  if (answer.type === "unknown") return postpone(core, work);
  if (answer.type === "taken") {
    await end(core, work, "TAKEN");
    await readDispute(core, work);
    return;
  }
  const reading = await readDispute(core, work);
  // A request may be refused because of an earlier one without an answer, or because a proxy has sent it twice.
  // rule:dispute-refused-twice
  if (reading === undefined && (response.sends > 0 || !(await isStillTaken(work)))) return postpone(core, work);
  const isTaken = response.sends > 0 && reading !== undefined && isAnsweredIn(reading, response);
  return isTaken ? end(core, work, "TAKEN") : end(core, work, "REFUSED", answer.gatewayCode);
}

function ask({ bound, dispute, response }: Work, evidence: Evidence | undefined): Promise<ResponseAnswer> {
  const { answers, credentials } = bound;
  const call = { credentials, timeoutMs: sendTimeoutMs, idempotencyKey: encodeId("rsp", response.id) };
  return evidence ? answers.submit(call, dispute, evidence) : answers.accept(call, dispute);
}

/** Asks whether the gateway would take such an answer now. */
async function isStillTaken({ bound, dispute, response }: Work): Promise<boolean> {
  const { answers, credentials } = bound;
  const options = await answers.options({ credentials, timeoutMs: followUpTimeoutMs }, dispute);
  return response.type === "ACCEPT" ? options?.accept === true : (options?.defenses ?? []).length > 0;
}

const selectContent: Statement = {
  name: "select_dispute_response_content",
  partitionKey: 1,
  text: "SELECT content_sealed AS sealed FROM dispute_response WHERE session_id = $1 AND id = $2",
};

/** Returns the evidence as it was committed; undefined once it is erased. */
async function evidenceOf(core: Core, { sessionId, id, response, loaded, bound }: Work): Promise<Evidence | undefined> {
  const contents = await loadContents(
    core.database,
    core.sealing,
    response.documents.map(({ file }) => file),
  );
  const [row] = await core.database.query<{ sealed: string | null }>(selectContent, [sessionId, id]);
  if (contents === undefined || !row?.sealed) return undefined;
  type Content = { explanation?: string; shipping?: Shipping };
  const content: Content = JSON.parse(unseal(core.sealing, placeOf(id), row.sealed).expose());
  const refunds = leftRefunds(loaded).flatMap(({ gatewayReference }) => (gatewayReference ? [gatewayReference] : []));
  return {
    defense: response.defense ?? undefined,
    ...(bound.answers.takesExplanation && content),
    documents: response.documents.map(({ file, type, name }) => ({ type, name, ...contents.get(file)! })),
    refundReferences: refunds,
  };
}

/**
 * Reads a dispute from the gateway, and records all that the gateway has of its payment; undefined if that is not
 * possible.
 */
async function readDispute(
  core: Core,
  { bound, captured, dispute, sessionId }: Work,
): Promise<DisputeReading | undefined> {
  const askedAt = (await loadSession(core.database, sessionId)).readAt;
  const call = { credentials: bound.credentials, timeoutMs: followUpTimeoutMs };
  const read = await bound.disputes?.disputesOf(call, capturedAtGateway(captured));
  const readings = read === undefined || read === "unreadable" ? [] : read;
  for (const reading of readings) {
    await core.database.transaction(async (tx) => {
      const loaded = await lockSession(tx, sessionId);
      const known = loaded && capturedOf(loaded);
      if (known) await recordReading(tx, core, { loaded, captured: known, reading, askedAt });
    });
  }
  return readings.find(({ gatewayReference }) => gatewayReference === dispute.gatewayReference);
}

function isAnsweredIn(reading: DisputeReading, { stage }: DisputeResponse): boolean {
  return reading.isAnswered === true || reading.status !== "NEEDS_RESPONSE" || reading.stage !== stage;
}

async function end(
  core: Core,
  { sessionId, id, dispute }: Work,
  status: "TAKEN" | "REFUSED",
  code?: string,
): Promise<void> {
  await core.database.transaction(async (tx) => {
    const loaded = (await lockSession(tx, sessionId))!;
    const failure = status === "REFUSED" ? (code ?? "refused").slice(0, failureCodeCharactersMax) : null;
    if ((await tx.query(moveResponse, [sessionId, id, status, failure, null])).length === 0) return;
    await resolveWorkItem(tx, itemOf(dispute));
    await reportOverlaps(tx, core, await loadSession(tx, sessionId));
    await emitEvent(tx, core, loaded.session, "dispute.updated", { disputeId: dispute.id });
  });
}

async function postpone(
  core: Core,
  { sessionId, id, dispute, response, loaded }: Omit<Work, "bound" | "captured">,
  ms = pauseMs(response, loaded.readAt),
): Promise<void> {
  await core.database.query(moveResponse, [sessionId, id, "REQUESTED", null, ms]);
  if (!isUnanswered(response, loaded.readAt)) return;
  const what = response.type === "ACCEPT" ? "acceptance of" : "evidence for";
  const detail = `${dispute.gateway} has not answered the ${what} the dispute ${dispute.gatewayReference.slice(0, 100)} for an hour. It is repeated; check there, before the deadline, whether it arrived.`;
  await openWorkItem(core.database, core, { ...itemOf(dispute), detail });
}

function itemOf({ sessionId, attemptId, id }: Dispute) {
  return { kind: "RESPONSE_UNANSWERED", sessionId, attemptId, rule: encodeId("dsp", id) } as const;
}

function findResponse(loaded: Payment, { id }: Pick<ResponseName, "id">) {
  for (const dispute of loaded.disputes ?? []) {
    const response = dispute.responses.find((one) => one.id === id);
    if (response) return { dispute, response };
  }
  return undefined;
}

/** Returns the name by which `seal` knows the sealed parts of a response. */
export function placeOf(id: DisputeResponseId): string {
  return `dispute_response ${encodeId("rsp", id)}`;
}
