/** The live test call that a connection needs before it may be routed to. */
import { setTimeout as pause } from "node:timers/promises";
import { settlingTimeoutMs } from "../limits.ts";
import type { Database, Statement } from "../platform/database.ts";
import type { KeyRing } from "../platform/secrets.ts";
import { type Forwarding, whyNotForwardable } from "./card-vault.ts";
import { loadCredentials, recordVerified } from "./connections.ts";
import type { Connector, VerifyRow } from "./connector.ts";

const selectTestNotice: Statement = {
  name: "select_test_notice",
  text: "SELECT 1 FROM gateway_notice WHERE connection_id = $1 AND kind = 'test' AND received_at >= $2 LIMIT 1",
};
const selectClock: Statement = { name: "select_clock", text: "SELECT app.clock() AS now" };

// A gateway posts its test notice within a second or two; a person waits for the answer.
const noticeWaitMs = 10_000;
const noticePollMs = 100;

/**
 * Tries staged credentials at the gateway, and puts them to use when every required row passed. Durable on return.
 * A test notice counts when the intake has stored one that came after the call.
 */
export async function verifyConnection(
  context: { database: Database; ring: KeyRing; connector: Connector; forwarding: Forwarding },
  staged: { connectionId: string; credentialVersion: number },
): Promise<{ verified: boolean; rows: readonly VerifyRow[] }> {
  const { database, ring, connector } = context;
  const credentials = await loadCredentials(database, ring, staged);
  const [clock] = await database.query<{ now: Date }>(selectClock, []);
  const answered = await Promise.all(
    (await connector.verify({ credentials, timeoutMs: settlingTimeoutMs })).map(async (row): Promise<VerifyRow> => {
      if (row.state !== "pending") return row;
      const arrived = await waitForNotice(database, staged.connectionId, clock!.now);
      return arrived
        ? { ...row, state: "passed", detail: "A signed test notice arrived." }
        : { ...row, state: "failed", detail: "No test notice arrived; check the notification address at the gateway." };
    }),
  );
  const rows = [...answered, ...vaultRows(context.forwarding, connector)];
  const verified = rows.every((row) => row.state === "passed" || !row.required);
  if (verified) await database.transaction((tx) => recordVerified(tx, staged));
  return { verified, rows };
}

/** A vault that can send everything the gateway needs takes no row. */
function vaultRows(forwarding: Forwarding, connector: Connector): VerifyRow[] {
  const detail = whyNotForwardable(forwarding, connector);
  return detail === undefined ? [] : [{ check: "card_vault", state: "failed", required: true, detail }];
}

async function waitForNotice(database: Database, connectionId: string, since: Date): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < noticeWaitMs; waitedMs += noticePollMs) {
    if ((await database.query(selectTestNotice, [connectionId, since])).length > 0) return true;
    await pause(noticePollMs);
  }
  return false;
}
