/** Checks an answer to a dispute against its rows and what its gateway takes, before anything is committed. */
import type { Core } from "../core/core.ts";
import { loadSession } from "../core/record/load-session.ts";
import type { Dispute, DisputeDocument } from "../core/rows/disputes.ts";
import { capturedOf, heldMinor, type Payment, refundedMinor } from "../core/rows/payment.ts";
import type { GatewayDisputeAnswers } from "../gateways/connector.ts";
import type { ResponseOptions, Shipping } from "../gateways/dispute-answers.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { type ConnectionId, decodeId } from "../platform/ids.ts";
import { hasCardNumber, hasNetworkNumber } from "../platform/scrub.ts";
import { sha256 } from "../platform/secrets.ts";
import { type DisputeFile, type DisputeName, listFiles, responseClosed } from "./dispute-files.ts";
import { writeFacts } from "./facts.ts";

/** A core that reads, and asks gateways. */
export type AskingCore = Pick<Core, "bind"> & { readonly database: Queryable };

/** A merchant's response. A file is the id of one, or `facts`. */
export type ResponseRequest =
  | { readonly type: "ACCEPT" }
  | {
      readonly type: "EVIDENCE";
      readonly defense?: string | undefined;
      readonly explanation?: string | undefined;
      readonly shipping?: Shipping | undefined;
      readonly files: readonly { readonly file: string; readonly type: string }[];
    };

/** Returns the fields of evidence in their order, by which a repeat is known. */
export function evidenceOf(given: Omit<EvidenceRequest, "type">): ResponseRequest {
  const { defense, explanation, shipping, files } = given;
  return {
    type: "EVIDENCE",
    defense,
    explanation,
    shipping: shipping && {
      carrier: shipping.carrier,
      trackingNumber: shipping.trackingNumber,
      shippedOn: shipping.shippedOn,
    },
    files: files.map(({ file, type }) => ({ file, type })),
  };
}

/** An answer that the gateway takes. `facts` is the file that is stored with it. */
export type PreparedResponse = {
  readonly request: ResponseRequest;
  readonly requestHash: Buffer;
  readonly documents: readonly DisputeDocument[];
  readonly facts?: { readonly type: string; readonly content: Buffer } | undefined;
};

const optionsTimeoutMs = 8_000;

/** Returns what the gateway takes as an answer now. Throws `not_found`, `not_offered` and `unavailable`. */
export async function loadOptions(
  core: AskingCore,
  name: DisputeName,
): Promise<ResponseOptions & Pick<GatewayDisputeAnswers, "takesExplanation">> {
  return askOptions(core, (await loadDispute(core, name)).dispute);
}

/** Returns the facts of a dispute's payment as they would be sent now. */
export async function loadFacts(core: AskingCore, name: DisputeName): Promise<Buffer> {
  const { loaded, dispute } = await loadDispute(core, name);
  return writeFacts(loaded, dispute);
}

/**
 * Throws `response_closed`, `evidence_already_submitted`, `payment_refunded`, `not_offered`, `unavailable` and
 * `invalid_field`. A repeat of the response in effect makes no gateway call.
 */
export async function prepareResponse(
  core: AskingCore,
  name: DisputeName,
  request: ResponseRequest,
): Promise<PreparedResponse> {
  const { loaded, dispute } = await loadDispute(core, name);
  const requestHash = sha256(JSON.stringify(request));
  if (inEffect(dispute, requestHash) === "same") return { request, requestHash, documents: [] };
  requireAnswerable(loaded, dispute, request);
  if (request.type === "EVIDENCE") requireContent(request);
  const options = await askOptions(core, dispute);
  const deadline = { respondBy: dispute.respondBy, now: loaded.readAt };
  if (request.type === "ACCEPT") {
    if (!options.accept)
      throw notOffered(deadline, "accept", "The gateway does not take an acceptance of this dispute now.");
    return { request, requestHash, documents: [] };
  }
  const { files } = request;
  requireOffered(deadline, options, request);
  const stored = await listFiles(core.database, dispute.id);
  const documents = files.flatMap(({ file, type }, place) =>
    file === "facts" ? [] : documentOf(stored, file, type, place),
  );
  const ofFacts = files.find(({ file }) => file === "facts");
  const printed = options.takesExplanation ? {} : request;
  return {
    request,
    requestHash,
    documents,
    ...(ofFacts && { facts: { type: ofFacts.type, content: writeFacts(loaded, dispute, printed) } }),
  };
}

/** Returns whether an answer in effect in this stage is this one: a repeat has the same fields. */
export function inEffect({ responses, stage }: Dispute, requestHash: Buffer): "same" | "other" | undefined {
  const found = responses.find((one) => one.stage === stage && one.status !== "REFUSED");
  if (found === undefined) return undefined;
  return found.requestHash === `\\x${requestHash.toString("hex")}` ? "same" : "other";
}

/** Throws unless a dispute can be answered so, as its rows stand. */
export function requireAnswerable(loaded: Payment, dispute: Dispute, { type }: Pick<ResponseRequest, "type">): void {
  // rule:dispute-one-answer
  if (dispute.responses.some((one) => one.stage === dispute.stage && one.status !== "REFUSED")) {
    const message = "This stage of the dispute has another answer already, and an answer is final.";
    throw new DomainError("evidence_already_submitted", message);
  }
  if (dispute.status !== "NEEDS_RESPONSE") throw responseClosed(dispute.status);
  if (type === "ACCEPT" && isRefunded(loaded, dispute)) {
    const message =
      "Refunds have paid back what this dispute is about. Accepting it would pay it back twice: submit the refund as evidence instead.";
    throw new DomainError("payment_refunded", message);
  }
}

// Computed as in guard_dispute_response().
function isRefunded(loaded: Payment, dispute: Dispute): boolean {
  const captured = capturedOf(loaded);
  const wholeMinor = captured?.capturedAmountMinor ?? 0;
  const minor = dispute.currency === captured?.currency ? Math.min(dispute.amountMinor, wholeMinor) : wholeMinor;
  const others = (loaded.disputes ?? []).filter(({ id }) => id !== dispute.id);
  return refundedMinor(loaded) + heldMinor(others) + minor > wholeMinor;
}

type EvidenceRequest = Extract<ResponseRequest, { type: "EVIDENCE" }>;

function requireContent({ explanation, shipping, files }: EvidenceRequest): void {
  const refuse = (field: string, rule: string) => {
    throw new DomainError("invalid_field", `${field} ${rule}.`, { field });
  };
  if (!explanation && !shipping && files.length === 0)
    refuse("explanation", "is needed where neither files nor shipping are given");
  if (explanation?.trim() === "") refuse("explanation", "must not be blank");
  if (explanation && hasCardNumber(explanation))
    refuse(
      "explanation",
      "must not contain the number of a card; the number of a parcel belongs in shipping.trackingNumber",
    );
  if (shipping && hasCardNumber(shipping.carrier)) refuse("shipping.carrier", "must not contain the number of a card");
  if (shipping && hasNetworkNumber(shipping.trackingNumber))
    refuse(
      "shipping.trackingNumber",
      "must not be the number of a card; if the carrier numbers its parcels so, add its proof of delivery as a file",
    );
  if (shipping && !isDay(shipping.shippedOn)) refuse("shipping.shippedOn", "must be a day, such as 2026-11-30");
  for (const [place, { file, type }] of files.entries()) {
    const others = files.slice(0, place);
    if (others.some((one) => one.file === file)) refuse(`files[${place}].file`, "is given twice");
    if (others.some((one) => one.type === type))
      refuse(`files[${place}].type`, "is given twice: a gateway takes one document of each type");
  }
}

function isDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

type Options = Awaited<ReturnType<typeof loadOptions>>;

function requireOffered(deadline: Deadline, { defenses, takesExplanation }: Options, request: EvidenceRequest): void {
  const { defense: code, explanation, shipping, files } = request;
  if (defenses.length === 0)
    throw notOffered(deadline, "defense", "The gateway takes no evidence for this dispute now.");
  const defense = defenses.find((one) => one.code === code);
  if (defense === undefined) {
    const rule =
      code === undefined ? "The gateway has several defenses: name one" : "The gateway does not offer this defense";
    throw notOffered(deadline, "defense", `${rule}. GET …/response-options lists them.`);
  }
  for (const [place, { type }] of files.entries()) {
    if (defense.documentTypes.some((one) => one.type === type)) continue;
    throw notOffered(
      deadline,
      `files[${place}].type`,
      "The gateway does not take a document of this type for this defense.",
    );
  }
  const missing = defense.documentTypes.find(
    ({ type, required }) => required && !files.some((one) => one.type === type),
  );
  if (missing) {
    const message = `The defense needs a document of the type ${missing.type}.`;
    throw new DomainError("invalid_field", message, { field: "files" });
  }
  if (takesExplanation || (!explanation && !shipping) || files.some(({ file }) => file === "facts")) return;
  const field = explanation ? "explanation" : "shipping";
  const message = `This gateway has no field for ${field}, so it is printed in the facts: add the file "facts".`;
  throw new DomainError("invalid_field", message, { field });
}

type Deadline = { readonly respondBy?: Date | null | undefined; readonly now: Date };

/** If a gateway accepts nothing because the time for an answer is over, the reason is the deadline. */
function notOffered({ respondBy, now }: Deadline, field: string | undefined, message: string): DomainError {
  if (!respondBy || respondBy > now)
    return new DomainError("not_offered", message, field === undefined ? {} : { field });
  const rule = `respondBy, the gateway's deadline, was ${respondBy.toISOString()}, and the gateway takes no answer after it.`;
  return new DomainError("response_closed", rule, { field: "respondBy" });
}

/** Returns the refusal of an answer that the gateway did not take. */
export function refusedByGateway(
  { status, ...dispute }: Pick<Dispute, "status" | "respondBy">,
  { code, now }: { readonly code: string | null; readonly now: Date },
): DomainError {
  if (status !== "NEEDS_RESPONSE") return responseClosed(status);
  return notOffered(
    { ...dispute, now },
    undefined,
    `The gateway refused the answer (${code ?? "without a reason"}). It has no effect.`,
  );
}

function documentOf(stored: readonly DisputeFile[], file: string, type: string, place: number): DisputeDocument {
  const found = stored.find(({ id }) => id === decodeId("file", file));
  if (found === undefined) {
    const field = `files[${place}].file`;
    throw new DomainError("invalid_field", `${field} must be a file of this dispute, or "facts".`, { field });
  }
  const { id, name, sizeBytes, sha256: hash } = found;
  return { file: id, type, name, sizeBytes, sha256: hash };
}

async function loadDispute({ database }: AskingCore, { merchantId, sessionId, id }: DisputeName) {
  const loaded = await loadSession(database, sessionId);
  const dispute = loaded.disputes?.find((one) => one.id === id && one.merchantId === merchantId);
  if (dispute === undefined) throw new DomainError("not_found", "There is no dispute with this id.");
  return { loaded, dispute };
}

async function askOptions(core: AskingCore, dispute: Dispute): Promise<Options> {
  const bound = await bindAnswers(core, dispute);
  if (bound === undefined)
    throw new DomainError(
      "not_offered",
      "Answer this dispute in the gateway's own pages: its account takes no answers from here.",
    );
  const { answers, credentials } = bound;
  const options = await answers.options({ credentials, timeoutMs: optionsTimeoutMs }, dispute);
  if (options === undefined)
    throw new DomainError("unavailable", "The gateway does not say now what it takes. Try again later.");
  return { ...options, takesExplanation: answers.takesExplanation };
}

const selectConnected: Statement = {
  name: "select_connection_of_dispute",
  text: `SELECT credential_version AS "credentialVersion" FROM connection WHERE id = $1`,
};

/** Binds a dispute to the newest verified credentials of its account; undefined if it takes no answers. */
export async function bindAnswers(
  core: AskingCore,
  { connectionId, gateway }: { readonly connectionId: ConnectionId; readonly gateway: string },
) {
  const [row] = await core.database.query<{ credentialVersion: number | null }>(selectConnected, [connectionId]);
  const bound = row?.credentialVersion ? await core.bind(connectionId, gateway, row.credentialVersion) : undefined;
  const answers = bound?.connector.disputeAnswers;
  return bound && answers ? { answers, disputes: bound.connector.disputes, credentials: bound.credentials } : undefined;
}
