/** Files for evidence: sealed, bounded, and removed 90 days after the dispute's end. */
import type { Core } from "../core/core.ts";
import { lockSession } from "../core/record/load-session.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { type DisputeFileId, type DisputeId, encodeId, type MerchantId, type SessionId } from "../platform/ids.ts";
import { hasNetworkNumber } from "../platform/scrub.ts";
import { type KeyRing, seal, sha256, unseal } from "../platform/secrets.ts";

/** All three gateways take a few files of some MB: at Adyen a PDF has 2 MB. */
const fileBounds = { files: 5, bytes: 2 * 1024 * 1024, bytesTogether: 4 * 1024 * 1024 } as const;

export type DisputeFile = {
  readonly id: DisputeFileId;
  readonly name: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** The hash in hexadecimal digits. */
  readonly sha256: string;
};

export type NewFile = { readonly name: string; readonly contentType: string; readonly content: Uint8Array };
export type DisputeName = { readonly merchantId: MerchantId; readonly sessionId: SessionId; readonly id: DisputeId };

const selectFiles: Statement = {
  name: "select_dispute_files",
  text: `SELECT id, name, content_type AS "contentType", size_bytes AS "sizeBytes", encode(sha256, 'hex') AS sha256
         FROM dispute_file WHERE dispute_id = $1 AND NOT is_facts ORDER BY created_at, id`,
};
const insertFile: Statement = {
  name: "insert_dispute_file",
  text: `INSERT INTO dispute_file (id, session_id, dispute_id, merchant_id, name, content_type, size_bytes, sha256, content_sealed, is_facts)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
};
const selectContents: Statement = {
  name: "select_dispute_file_contents",
  text: `SELECT id, content_type AS "contentType", content_sealed AS sealed FROM dispute_file WHERE id = ANY ($1::uuid[])`,
};

/** Returns the files that were stored for the evidence of a dispute, oldest first. */
export function listFiles(queryable: Queryable, id: DisputeId): Promise<DisputeFile[]> {
  return queryable.query<DisputeFile>(selectFiles, [id]);
}

/** Stores a file. Throws `not_found`, `response_closed`, and `invalid_field` for one that is not what it says, or too many. */
export async function addFile(
  tx: Tx,
  core: Pick<Core, "sealing" | "runtime">,
  { merchantId, sessionId, id }: DisputeName,
  file: NewFile,
): Promise<DisputeFile> {
  if (!isWhatItSays(file)) {
    const message = "The content must be a PDF or a JPEG, as contentType and the end of the name say.";
    throw new DomainError("invalid_field", message, { field: "content" });
  }
  if (hasNetworkNumber(file.name)) {
    throw new DomainError("invalid_field", "name must not contain the number of a card.", { field: "name" });
  }
  const loaded = await lockSession(tx, sessionId);
  const dispute = loaded?.disputes?.find((one) => one.id === id && one.merchantId === merchantId);
  if (dispute === undefined) throw new DomainError("not_found", "There is no dispute with this id.");
  if (dispute.status !== "NEEDS_RESPONSE") throw responseClosed(dispute.status);
  const before = await listFiles(tx, id);
  const together = before.reduce((sum, { sizeBytes }) => sum + sizeBytes, file.content.length);
  if (before.length >= fileBounds.files || together > fileBounds.bytesTogether) {
    const message = `A dispute has at most ${fileBounds.files} files, of ${fileBounds.bytesTogether / 1024 / 1024} MiB together.`;
    throw new DomainError("invalid_field", message, { field: "content" });
  }
  return insert(tx, core, { merchantId, sessionId, id }, { ...file, isFacts: false });
}

/** Stores the facts as they are sent. */
export function addFacts(
  tx: Tx,
  core: Pick<Core, "sealing" | "runtime">,
  name: DisputeName,
  file: NewFile,
): Promise<DisputeFile> {
  return insert(tx, core, name, { ...file, isFacts: true });
}

async function insert(
  tx: Tx,
  { sealing, runtime }: Pick<Core, "sealing" | "runtime">,
  { merchantId, sessionId, id: disputeId }: DisputeName,
  { name, contentType, content, isFacts }: NewFile & { readonly isFacts: boolean },
): Promise<DisputeFile> {
  const id: DisputeFileId = runtime.uuid();
  const hash = sha256(content);
  const sealed = seal(sealing, placeOf(id), Buffer.from(content).toString("base64"));
  const values = [id, sessionId, disputeId, merchantId, name, contentType, content.length, hash, sealed, isFacts];
  await tx.query(insertFile, values);
  return { id, name, contentType, sizeBytes: content.length, sha256: hash.toString("hex") };
}

/** Loads the contents of these files; undefined if one has been removed. */
export async function loadContents(
  queryable: Queryable,
  ring: KeyRing,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Pick<NewFile, "contentType" | "content">> | undefined> {
  if (ids.length === 0) return new Map();
  type Row = { id: string; contentType: string; sealed: string };
  const rows = await queryable.query<Row>(selectContents, [ids]);
  if (rows.length < ids.length) return undefined;
  return new Map(
    rows.map(({ id, contentType, sealed }) => [
      id,
      { contentType, content: Buffer.from(unseal(ring, placeOf(id), sealed).expose(), "base64") },
    ]),
  );
}

export function responseClosed(status: string): DomainError {
  const message = `The dispute takes no answer: it is ${status}, and only one that is NEEDS_RESPONSE can be answered.`;
  return new DomainError("response_closed", message, { state: { status } });
}

/** `seal` knows a file by this name. */
export function placeOf(id: DisputeFileId): string {
  return `dispute_file ${encodeId("file", id)}`;
}

// The first bytes decide: ISO 32000-1, 7.5.2, and ITU-T T.81, B.1.1.3.
function isWhatItSays({ name, contentType, content }: NewFile): boolean {
  const begins = (...bytes: number[]) => bytes.every((byte, place) => content[place] === byte);
  return contentType === "application/pdf"
    ? begins(0x25, 0x50, 0x44, 0x46, 0x2d) && /[.]pdf$/i.test(name)
    : begins(0xff, 0xd8, 0xff) && /[.]jpe?g$/i.test(name);
}
