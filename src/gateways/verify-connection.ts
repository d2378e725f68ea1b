/** The live test call that a connection needs before it may be routed to. */
import { setTimeout as pause } from "node:timers/promises";
import { settlingTimeoutMs } from "../limits.ts";
import type { Database, Statement } from "../platform/database.ts";
import type { KeyRing } from "../platform/secrets.ts";
import { type Forwarding, whyNotForwardable } from "./card-vault.ts";
import { dropCredentials, loadCredentials, recordVerified, stageCredentials } from "./connections.ts";
import type { Connector, VerifyRow } from "./connector.ts";

const selectTestNotice: Statement = {
  name: "select_test_notice",
  text: `
    SELECT 1 FROM gateway_notice
    WHERE connection_id = $1 AND credential_version = $2 AND kind = 'test' AND received_at >= $3 LIMIT 1`,
};
const selectClock: Statement = { name: "select_clock", text: "SELECT app.clock() AS now" };

/** What a verification needs of its environment, and the gateway's connector. */
export type VerifyContext = {
  readonly database: Database;
  readonly ring: KeyRing;
  readonly connector: Connector;
  readonly forwarding: Forwarding;
  /** How long a test notice may take to come, when it is not the usual time. */
  readonly noticeWaitMs?: number;
};

// A gateway posts its test notice within a second or two; a person waits for the answer.
const usualNoticeWaitMs = 10_000;
const noticePollMs = 100;

/**
 * Tries staged credentials at the gateway, and puts them to use when every required row passed. Durable on return.
 * A test notice counts when the intake has stored one that came after the call and is signed with these credentials.
 */
export async function verifyConnection(
  context: VerifyContext,
  staged: { connectionId: string; credentialVersion: number },
): Promise<{ verified: boolean; rows: readonly VerifyRow[] }> {
  const { database, ring, connector } = context;
  const credentials = await loadCredentials(database, ring, staged);
  const [clock] = await database.query<{ now: Date }>(selectClock, []);
  const answered = await Promise.all(
    (await connector.verify({ credentials, timeoutMs: settlingTimeoutMs })).map(async (row): Promise<VerifyRow> => {
      if (row.state !== "pending") return row;
      const arrived = await waitForNotice(context, staged, clock!.now);
      return arrived
        ? { ...row, state: "passed", detail: "A signed test notice arrived." }
        : { ...row, state: "failed", detail: noNotice };
    }),
  );
  const rows = [...answered, ...vaultRows(context.forwarding, connector)];
  const isFit = rows.every((row) => row.state === "passed" || !row.required);
  const verified = isFit && (await database.transaction((tx) => recordVerified(tx, staged)));
  return { verified, rows };
}

/**
 * Tries new credentials and puts them in the place of those in use; when a required row fails nothing changes, and they are
 * not kept. Attempts under way end with the credentials that they began with.
 */
export async function rotateCredentials(
  context: VerifyContext,
  { connectionId, credentials }: { connectionId: string; credentials: Readonly<Record<string, string>> },
): Promise<{ verified: boolean; credentialVersion: number; rows: readonly VerifyRow[] }> {
  const { database, ring } = context;
  const credentialVersion = await database.transaction((tx) =>
    stageCredentials(tx, ring, { connectionId, credentials }),
  );
  const staged = { connectionId, credentialVersion };
  let isKept = false;
  try {
    const { verified, rows } = await verifyConnection(context, staged);
    isKept = verified;
    return { verified, credentialVersion, rows };
  } finally {
    if (!isKept) await dropCredentials(database, staged);
  }
}

/** A vault that can send everything the gateway needs takes no row. */
function vaultRows(forwarding: Forwarding, connector: Connector): VerifyRow[] {
  const detail = whyNotForwardable(forwarding, connector);
  return detail === undefined ? [] : [{ check: "card_vault", state: "failed", required: true, detail }];
}

const noNotice =
  "No test notice arrived that is signed with these credentials; check the notification address at the gateway, and its key.";

async function waitForNotice(
  { database, noticeWaitMs = usualNoticeWaitMs }: VerifyContext,
  { connectionId, credentialVersion }: { connectionId: string; credentialVersion: number },
  since: Date,
): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < noticeWaitMs; waitedMs += noticePollMs) {
    const found = await database.query(selectTestNotice, [connectionId, credentialVersion, since]);
    if (found.length > 0) return true;
    await pause(noticePollMs);
  }
  return false;
}
