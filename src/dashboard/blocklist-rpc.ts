/** A merchant's block list: proto ↔ core. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AddBlocklistEntryRequest,
  BlocklistEntry_Kind,
  type BlocklistEntrySchema,
  type BlocklistService,
  type PartOfPayment,
  PaymentPart as PaymentPartMessage,
} from "../../gen/dashboard/v1/blocklist_pb.ts";
import { normalizeEmail } from "../accounts/members.ts";
import type { BlockKind } from "../core/card-testing/blocked.ts";
import {
  addEntry,
  type Blockable,
  type BlocklistEntry,
  endEntry,
  findBlockable,
  findEntryOf,
  listBlocklist,
} from "../core/card-testing/blocklist.ts";
import { cellOf, findCell } from "../platform/cells.ts";
import { countedNetwork } from "../platform/client-address.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { type Scope, scopedContextOf } from "./rpc-context.ts";
import { requireId } from "./webhook-messages.ts";

const parts: readonly BlockKind[] = ["CARD", "EMAIL", "NETWORK"];

export function createBlocklistService({ runtime }: DashboardParts): ServiceImpl<typeof BlocklistService> {
  return {
    async listBlocklist(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const entries = await listBlocklist(environment.database, merchantId);
      return { entries: entries.map(toMessage) };
    },

    async listBlockableParts({ sessionId }, context) {
      const scope = scopedContextOf(context);
      const found = await blockableOf(scope, sessionId);
      const listed = parts.map(async (part) => {
        const blockable = found[part];
        if (blockable === undefined) return [];
        const entry = await findEntryOf(scope.environment.database, scope.merchantId, blockable);
        const text = blockable.kind === "CARD" ? (blockable.cardLast4 ?? "") : blockable.given;
        return [{ part: PaymentPartMessage[part], text, ...(entry && { entry: toMessage(entry) }) }];
      });
      return { parts: (await Promise.all(listed)).flat() };
    },

    async addBlocklistEntry(request, context) {
      const scope = scopedContextOf(context);
      const { merchantId, rpcContext } = scope;
      const reason = request.reason.trim();
      if (reason === "") throw new DomainError("invalid_field", "A reason must not be blank.", { field: "reason" });
      const blockable = await blockableIn(scope, request);
      const endsAt = request.endsAt ? timestampDate(request.endsAt) : null;
      const entry = await scope.change(async (tx) => {
        const added = await addEntry(tx, merchantId, {
          ...blockable,
          id: runtime.uuid(),
          reason,
          addedBy: rpcContext.actor,
          endsAt,
        });
        await rpcContext.audit(tx, { subject: encodeId("blk", added.id), after: audited(added) });
        return added;
      });
      return { entry: toMessage(entry) };
    },

    async endBlocklistEntry({ entryId }, context) {
      const { merchantId, rpcContext, change } = scopedContextOf(context);
      const id = decodeId("blk", entryId);
      const entry = await change(async (tx) => {
        const ended = id && (await endEntry(tx, merchantId, id));
        if (!ended) throw new DomainError("not_found", "The block list has no such entry, or it has ended.");
        await rpcContext.audit(tx, { subject: entryId, before: audited(ended) });
        return ended;
      });
      return { entry: toMessage(entry) };
    },
  };
}

/** Returns the parts of a payment, which may be in a cell that the merchant has left. */
async function blockableOf({ merchantId, environment }: Scope, named: string) {
  const sessionId = requireId("ps", named, "payment");
  const cell = findCell(environment, cellOf(sessionId));
  const found = cell && (await findBlockable(cell.database, { merchantId, sessionId }));
  if (found === undefined) throw new DomainError("not_found", "There is no such payment.");
  return found;
}

const missing = {
  CARD: "The payment has no card that can be recognized: the vault made no fingerprint of it, no card was submitted, or the customer’s data were erased.",
  EMAIL: "The payment has no e-mail address.",
  NETWORK: "The payment came from no public address, or the customer’s data were erased.",
};

async function blockableIn(scope: Scope, { blocked }: AddBlocklistEntryRequest): Promise<Blockable> {
  if (blocked.case === "payment") return blockablePart(scope, blocked.value);
  if (blocked.case === "email") {
    const email = normalizeEmail(blocked.value);
    if (email) return { kind: "EMAIL", given: email };
    throw new DomainError("invalid_field", "This is not an e-mail address.", { field: "email" });
  }
  const network = countedNetwork(blocked.value ?? "");
  if (network) return { kind: "NETWORK", given: network };
  const rule = "A network is a public IPv4 address or its /24, or a /64 or /48 of IPv6.";
  throw new DomainError("invalid_field", rule, { field: "network" });
}

async function blockablePart(scope: Scope, { sessionId, part: wanted }: PartOfPayment): Promise<Blockable> {
  const found = await blockableOf(scope, sessionId);
  const part = parts.find((each) => PaymentPartMessage[each] === wanted) ?? "CARD";
  const blockable = found[part];
  if (blockable) return blockable;
  const detail = missing[part];
  throw new DomainError("invalid_field", detail, { field: "payment.part" });
}

/** Returns an entry for the audit trail, without the fields that could reveal the customer's data. */
function audited({ kind, network, cardLast4, sessionId, reason, endsAt }: BlocklistEntry) {
  return {
    kind,
    ...(network !== null && { network }),
    ...(cardLast4 !== null && { cardLast4 }),
    ...(sessionId !== null && { session: encodeId("ps", sessionId) }),
    reason,
    endsAt: endsAt?.toISOString() ?? null,
  };
}

function toMessage(entry: BlocklistEntry): MessageInitShape<typeof BlocklistEntrySchema> {
  const { id, kind, network, cardLast4, sessionId, reason, addedBy, addedAt, endsAt } = entry;
  return {
    entryId: encodeId("blk", id),
    kind: BlocklistEntry_Kind[kind],
    network: network ?? "",
    cardLast4: cardLast4 ?? "",
    sessionId: sessionId === null ? "" : encodeId("ps", sessionId),
    reason,
    addedBy,
    addedAt: timestampFromDate(addedAt),
    ...(endsAt && { endsAt: timestampFromDate(endsAt) }),
  };
}
