/** The live test call that a connection needs before it may be routed to. */
import { setTimeout as pause } from "node:timers/promises";
import { settlingTimeoutMs } from "../limits.ts";
import type { Database, Statement, Tx } from "../platform/database.ts";
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

/** What is written in one transaction with what becomes of the credentials. */
export type Alongside = {
  /** Runs a change of the merchant's configuration in one transaction; the database's own way when absent. */
  readonly change?: <Result>(work: (tx: Tx) => Promise<Result>) => Promise<Result>;
  /** Such as a row of the audit trail: without it nothing is put to use. */
  readonly also?: (tx: Tx, tried: { credentialVersion: number; verified: boolean }) => Promise<void>;
};

/**
 * Tries staged credentials at the gateway, and puts them to use when every required row passed. Durable on return.
 * A test notice counts when the intake has stored one that came after the call and is signed with these credentials.
 */
export async function verifyConnection(
  context: VerifyContext,
  staged: { connectionId: string; credentialVersion: number },
  { change = (work) => context.database.transaction(work), also }: Alongside = {},
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
  const verified = await change(async (tx) => {
    const isInUse = isFit && (await recordVerified(tx, staged));
    await also?.(tx, { credentialVersion: staged.credentialVersion, verified: isInUse });
    return isInUse;
  });
  return { verified, rows };
}

/**
 * Tries new credentials and puts them in the place of those in use; when a required row fails nothing changes, and they are
 * not kept. Attempts under way end with the credentials that they began with.
 */
export async function rotateCredentials(
  context: VerifyContext,
  { connectionId, credentials }: { connectionId: string; credentials: Readonly<Record<string, string>> },
  alongside: Alongside = {},
): Promise<{ verified: boolean; credentialVersion: number; rows: readonly VerifyRow[] }> {
  const { database, ring } = context;
  const { change = (work) => database.transaction(work) } = alongside;
  // Two at once must not give the same version.
  const credentialVersion = await change((tx) => stageCredentials(tx, ring, { connectionId, credentials }));
  const staged = { connectionId, credentialVersion };
  let isKept = false;
  try {
    const { verified, rows } = await verifyConnection(context, staged, alongside);
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
