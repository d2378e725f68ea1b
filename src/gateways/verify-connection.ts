/** Makes the call that verifies a connection, which it needs before it may be routed to. */
import { setTimeout as pause } from "node:timers/promises";
import { type Forwarding, whyNotForwardable } from "../card-vault/card-vault.ts";
import { followUpTimeoutMs } from "../limits.ts";
import type { Statement, Transacting, Tx } from "../platform/database.ts";
import { type AttemptId, type ConnectionId, encodeId } from "../platform/ids.ts";
import type { KeyRing } from "../platform/secrets.ts";
import type { Amount } from "./amounts.ts";
import { dropCredentials, loadCredentials, recordVerified, stageCredentials } from "./connections.ts";
import type { Connector, Credentials, VerifyRow } from "./connector.ts";

const selectTestNotification: Statement = {
  name: "select_test_notification",
  text: `
    SELECT 1 FROM gateway_notification
    WHERE connection_id = $1 AND credential_version = $2 AND kind = 'test'
      AND received_at >= app.clock() - make_interval(secs => $3) LIMIT 1`,
};

/** A gateway's connector, or a provider of authentication, which has no payments to look up. */
export type Verifiable = Pick<Connector, "credentialFields" | "forwardFeatures" | "verify"> &
  Partial<Pick<Connector, "lookUp">> & { readonly gateway: string };

export type VerifyContext = {
  readonly database: Transacting;
  readonly ring: KeyRing;
  readonly connector: Verifiable;
  /** Checks that only the service can make, of a provider: its acquirers' data, and the address for returns. */
  readonly ownChecks?: readonly VerifyRow[];
  readonly forwarding: Forwarding;
  /** Time to wait for a test notification, if not the default. */
  readonly notificationWaitMs?: number;
};

// A person waits for the answer, and its client for 40 s (client/dashboard-client.ts).
const defaultNotificationWaitMs = 10_000;
// Adyen may take a minute or more for its first notification. One that came too late for a verification counts for the
// next, and is still no older than the setting of the webhook under test.
const notificationAgeMaxS = 600;
const alertPollMs = 100;

/** Writes made in the same transaction that activates or drops the credentials. */
export type Alongside = {
  /** Runs a change of the merchant's configuration in one transaction; defaults to the database's own. */
  readonly change?: <Result>(work: (tx: Tx) => Promise<Result>) => Promise<Result>;
  /** Writes, for example, a row of the audit log; if it fails, the credentials are not activated. */
  readonly also?: (tx: Tx, tried: { credentialVersion: number; verified: boolean }) => Promise<void>;
};

/**
 * Tries staged credentials at the gateway, and activates them if every required row passed. Durable on return. A test
 * notification counts if the intake has stored one in the last minutes that is signed with these credentials.
 */
export async function verifyConnection(
  context: VerifyContext,
  staged: { connectionId: ConnectionId; credentialVersion: number },
  { change = (work) => context.database.transaction(work), also }: Alongside = {},
): Promise<{ verified: boolean; rows: readonly VerifyRow[] }> {
  const { database, ring, connector } = context;
  const credentials = await loadCredentials(database, ring, staged);
  const answered = await Promise.all(
    (await connector.verify({ credentials, timeoutMs: followUpTimeoutMs })).map(async (row): Promise<VerifyRow> => {
      if (row.state !== "pending") return row;
      const arrived = await waitForNotification(context, staged);
      return arrived
        ? { ...row, state: "passed", detail: "A signed test notification arrived." }
        : { ...row, state: "failed", detail: noNotification };
    }),
  );
  const opened = await compareAccount(context, staged, { credentials, answered });
  const own = [...opened.rows, ...vaultRows(context.forwarding, connector), ...(context.ownChecks ?? [])];
  const rows = [...answered, ...own];
  const isFit = rows.every((row) => row.state === "passed" || !row.required);
  const verified = await change(async (tx) => {
    const isInUse = isFit && (await recordVerified(tx, { ...staged, account: opened.account }));
    await also?.(tx, { credentialVersion: staged.credentialVersion, verified: isInUse });
    return isInUse;
  });
  return { verified, rows };
}

/**
 * Tries new credentials and replaces those in use; if a required row fails nothing changes, and they are not kept.
 * Attempts under way end with the credentials that they began with.
 */
export async function rotateCredentials(
  context: VerifyContext,
  { connectionId, credentials }: { connectionId: ConnectionId; credentials: Readonly<Record<string, string>> },
  alongside: Alongside = {},
): Promise<{ verified: boolean; credentialVersion: number; rows: readonly VerifyRow[] }> {
  const { database, ring } = context;
  const { change = (work) => database.transaction(work) } = alongside;
  // Two concurrent calls must not assign the same version.
  const credentialVersion = await change((tx) => stageCredentials(tx, ring, { connectionId, credentials }));
  const staged = { connectionId, credentialVersion };
  let isKept = false;
  try {
    const { verified, rows } = await verifyConnection(context, staged, alongside);
    isKept = verified;
    return { verified, credentialVersion, rows };
  } finally {
    // The call removes what it staged itself, even if the caller has lost its right to change things meanwhile.
    if (!isKept) await dropCredentials(database, staged);
  }
}

const selectInUse: Statement = {
  name: "select_credential_in_use",
  text: `
    SELECT c.credential_version AS version,
      (SELECT v.gateway_account FROM connection_credential v
       WHERE v.connection_id = c.id AND v.verified_at IS NOT NULL AND v.gateway_account IS NOT NULL
       ORDER BY v.version DESC LIMIT 1) AS account
    FROM connection c WHERE c.id = $1 AND c.credential_version IS NOT NULL`,
};
const selectPayment: Statement = {
  name: "select_payment_of_connection",
  text: `
    SELECT id, gateway_reference AS "gatewayReference", amount_minor AS "amountMinor", currency FROM attempt
    WHERE connection_id = $1 AND gateway_reference IS NOT NULL AND status IN ('AUTHORIZED','VOIDING','CAPTURED') LIMIT 1`,
};

type InUse = { readonly version: number; readonly account: string | null };
type Payment = Amount & { readonly id: AttemptId; readonly gatewayReference: string };
type Opened = { readonly account?: string | undefined; readonly rows: readonly VerifyRow[] };

/**
 * Compares the account that staged credentials open with the one in use: payments of the connection are refunded with
 * the newest credentials, and another account does not know them. If either cannot be read, the credentials must find a
 * payment of the connection. Without one, they are refused if the account in use is known.
 */
async function compareAccount(
  { database, connector }: VerifyContext,
  { connectionId, credentialVersion }: { connectionId: ConnectionId; credentialVersion: number },
  { credentials, answered }: { credentials: Credentials; answered: readonly VerifyRow[] },
): Promise<Opened> {
  const account = answered.find(({ check }) => check === "credentials")?.account;
  const [inUse] = await database.query<InUse>(selectInUse, [connectionId]);
  const isInUse = inUse === undefined || inUse.version === credentialVersion;
  if (account !== undefined && inUse !== undefined && inUse.account !== null && account !== inUse.account)
    return { account, rows: [otherAccount] };
  if (isInUse) return { account, rows: [] };
  if (account !== undefined && inUse.account !== null) return { account, rows: [sameAccount] };
  if (answered.some(({ state, required }) => state === "failed" && required)) return { rows: [] };
  const [payment] = connector.lookUp ? await database.query<Payment>(selectPayment, [connectionId]) : [];
  if (payment === undefined) return { account, rows: inUse.account === null ? [] : [unreadAccount] };
  const attempt = {
    ...payment,
    amountMinor: Number(payment.amountMinor),
    attemptReference: encodeId("att", payment.id),
  };
  const { type } = await connector.lookUp!({ credentials, timeoutMs: followUpTimeoutMs }, attempt);
  const isKnown = type !== "absent" && type !== "inconclusive";
  return isKnown ? { account: account ?? inUse.account ?? undefined, rows: [sameAccount] } : { rows: [unknownAccount] };
}

const accountRow = { check: "account", required: true } as const;
const sameAccount: VerifyRow = { ...accountRow, state: "passed", detail: "The credentials open the account in use." };
const connectInstead = "Connect the other account as a new connection, and put that one into the routing rule.";
const otherAccount: VerifyRow = {
  ...accountRow,
  state: "failed",
  detail: `These credentials open another account, which cannot refund the payments of this connection. ${connectInstead}`,
};
const unknownAccount: VerifyRow = {
  ...accountRow,
  state: "failed",
  detail: `These credentials do not find a payment of this connection, so they may open another account. If they open the same one, give the key the right to read the account and its payments. ${connectInstead}`,
};

const unreadAccount: VerifyRow = {
  ...accountRow,
  state: "failed",
  detail: `These credentials do not show which account they open, and the connection has no payment to compare. Give the key the right to read the account. ${connectInstead}`,
};

/** Returns the vault's checks; none if the vault can send everything that the gateway needs. */
function vaultRows(forwarding: Forwarding, connector: Verifiable): VerifyRow[] {
  const detail = whyNotForwardable(forwarding, connector);
  return detail === undefined ? [] : [{ check: "card_vault", state: "failed", required: true, detail }];
}

const noNotification =
  "No test notification has arrived yet that is signed with these credentials. Verify again in a minute; if it fails again, check the notification address at the gateway, and its key.";

async function waitForNotification(
  { database, notificationWaitMs = defaultNotificationWaitMs }: VerifyContext,
  { connectionId, credentialVersion }: { connectionId: ConnectionId; credentialVersion: number },
): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < notificationWaitMs; waitedMs += alertPollMs) {
    const found = await database.query(selectTestNotification, [connectionId, credentialVersion, notificationAgeMaxS]);
    if (found.length > 0) return true;
    await pause(alertPollMs);
  }
  return false;
}
