/** The ledger rpc of merchants' backends: proto ↔ reporting. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  LedgerEntry_Type,
  type LedgerService,
  ListLedgerEntriesResponseSchema,
} from "../../gen/payments/v1/ledger_pb.ts";
import { encodeId } from "../platform/ids.ts";
import { type LedgerEntry, readLedger } from "../reporting/ledger.ts";
import { listingOf } from "./caller.ts";

const entriesDefault = 100;

/** The ledger rpc; it sees its own merchant and environment only. */
export const ledgerService: ServiceImpl<typeof LedgerService> = {
  async listLedgerEntries({ pageSize, pageToken, ...days }, context) {
    // A replica is never used: it may lag behind the days that are known to be closed.
    const { databases, merchantId, keys } = listingOf(context);
    const wanted = { merchantId, days, pageToken, keys, count: pageSize ?? entriesDefault };
    const { entries, nextPageToken } = await readLedger(databases, wanted);
    return create(ListLedgerEntriesResponseSchema, {
      entries: entries.map(entryMessage),
      ...(nextPageToken !== undefined && { nextPageToken }),
    });
  },
};

export function entryMessage({ refundId, disputeId, gatewayReference, ...entry }: LedgerEntry) {
  return {
    ...entry,
    type: LedgerEntry_Type[entry.type],
    recordedAt: timestampFromDate(new Date(entry.recordedAt)),
    sessionId: encodeId("ps", entry.sessionId),
    attemptId: encodeId("att", entry.attemptId),
    amountMinor: BigInt(entry.amountMinor),
    ...(refundId !== null && { refundId: encodeId("ref", refundId) }),
    ...(disputeId !== null && { disputeId: encodeId("dsp", disputeId) }),
    ...(gatewayReference !== null && { gatewayReference }),
  };
}
