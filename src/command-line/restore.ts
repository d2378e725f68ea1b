/** `switchyard restore`: steps after a database was restored from a backup or a replica was promoted. */
import { Command } from "commander";
import { recordAudit } from "../accounts/audit-trail.ts";
import { endEverySignIn } from "../accounts/end-sign-ins.ts";
import type { Database, Tx } from "../platform/database.ts";
import { databaseLogin } from "../platform/database-address.ts";
import { type AttemptId, decodeId, encodeId, type SessionId } from "../platform/ids.ts";
import { type Amount, parseAmount } from "./amounts.ts";
import { describedCommand, UsageError } from "./attachment.ts";
import { type OutputOptions, print, table } from "./output.ts";
import { addOwnerUrl, type OwnerUrlOptions, onOwnerDatabase, ownerUrlOf } from "./owner-url.ts";
import { parseTime } from "./times.ts";

type Options = OutputOptions & OwnerUrlOptions;

/**
 * Declares a restore or confirms a promotion, lists the sessions in doubt, and adopts or releases those that a person
 * has checked.
 */
export function restoreCommand(): Command {
  return new Command("restore")
    .addCommand(declareCommand())
    .addCommand(confirmCommand())
    .addCommand(accountsCommand())
    .addCommand(vaultCommand())
    .addCommand(statusCommand())
    .addCommand(adoptCommand())
    .addCommand(releaseCommand());
}

function declareCommand(): Command {
  const command = describedCommand("declare", {
    description:
      "mark every session that may have continued after the backup as in doubt; run it before you start a role; the workers then query the gateways",
    example:
      "switchyard restore declare --url postgres://owner@db/switchyard_live --backup-taken-at 2026-11-01T03:00:00Z",
  });
  return addOwnerUrl(command)
    .option(
      "--backup-taken-at <time>",
      "time of the backup; sessions that had expired by then are not marked",
      parseTime,
    )
    .action(async (options: Options & { backupTakenAt?: string }) => {
      const { backupTakenAt } = options;
      // With it no session would be in doubt.
      if (backupTakenAt !== undefined && new Date(backupTakenAt) > new Date())
        throw new UsageError("--backup-taken-at must not be in the future. Without it, every session is marked.");
      const { declareRestore } = await import("../oversight/declare-restore.ts");
      const sessions = await withoutLimits(ownerUrlOf(options), async (database) => {
        await refuseConnected(database);
        return declareRestore(database, { backupTakenAt: backupTakenAt ? new Date(backupTakenAt) : undefined });
      });
      print(options, { sessions }, () => [
        `${sessions} sessions are in doubt. Start the roles; after a minute the workers begin to query the gateways about them.`,
      ]);
    });
}

/** Refuses while a process may act on what the restore has lost. */
async function refuseConnected(database: Database): Promise<void> {
  const { findConnected } = await import("../oversight/declare-restore.ts");
  const connected = await findConnected(database);
  if (connected.length > 0) {
    throw new UsageError(`Stop every role first. Connected to this database: ${connected.join(", ")}.`);
  }
}

function confirmCommand(): Command {
  return addOwnerUrl(
    describedCommand("confirm", {
      description:
        "confirm that a promoted replica had every commit, so that sessions continue; if a commit may be missing, use `declare` instead",
      example:
        'switchyard restore confirm --url postgres://owner@db/switchyard_live --by ada --note "planned, replica had caught up"',
    }),
  )
    .requiredOption("--by <name>", "name of the person who checked; written to the audit trail")
    .requiredOption("--note <text>", "how you know that no commit is missing")
    .action(async (options: Options & { by: string; note: string }) => {
      const { confirmTimeline } = await import("../oversight/declare-restore.ts");
      const { systemRuntime } = await import("../platform/runtime.ts");
      const timeline = await onOwnerDatabase(options, (database) =>
        database.transaction(async (tx) => {
          const confirmed = await confirmTimeline(tx);
          if (confirmed === undefined) throw new UsageError("The timeline of the database is already confirmed.");
          await recordAudit(tx, systemRuntime.uuid(), {
            merchantId: undefined,
            actor: `command line (${options.by})`,
            action: "ConfirmTimeline",
            subject: confirmed,
            after: { note: options.note },
            requestId: "",
          });
          return confirmed;
        }),
      );
      print(options, { timeline }, () => [`Confirmed timeline ${timeline}. Sessions continue.`]);
    });
}

function accountsCommand(): Command {
  const command = describedCommand("end-sign-ins", {
    description: "end every sign-in, invitation and password link that came back with a restored accounts database",
    example: "switchyard restore end-sign-ins --url postgres://owner@db/switchyard_accounts",
  });
  return addOwnerUrl(command).action(async (options: Options) => {
    const ended = await onOwnerDatabase(options, endEverySignIn);
    print(options, ended, ({ signIns, invitations, passwordLinks, approvals }) => [
      `Ended ${signIns} sign-ins, ${invitations} invitations, ${passwordLinks} password links and ${approvals} calls that waited for a second person.`,
    ]);
  });
}

function vaultCommand(): Command {
  const command = describedCommand("drop-wallet-keys", {
    description:
      "drop every key of Google Pay in a vault's database that was restored, or promoted without its last commits, and no longer knows the messages that were used; run it before you start a vault, and register new ones",
    example: "switchyard restore drop-wallet-keys --url postgres://owner@db-vault/switchyard_vault",
  });
  return addOwnerUrl(command).action(async (options: Options) => {
    const { dropKeysAfterRestore } = await import("../platform/wallet-ring.ts");
    const dropped = await onOwnerDatabase(options, async (database) => {
      await refuseConnected(database);
      return dropKeysAfterRestore(database);
    });
    const merchants = [...new Set(dropped.map(({ environment, merchantId }) => `${merchantId} (${environment})`))];
    print(options, { keys: dropped.length, merchants }, () => [
      `Dropped ${dropped.length} keys of Google Pay.`,
      ...(merchants.length > 0 ? [`Make new ones and register them at Google for: ${merchants.join(", ")}.`] : []),
    ]);
  });
}

// A screen or two; a person checks the remaining sessions one by one.
const statusRows = 100;

function statusCommand(): Command {
  return addOwnerUrl(
    describedCommand("status", {
      description: "list the sessions in doubt, whose outcome the gateways have not confirmed yet",
      example: "switchyard restore status --url postgres://owner@db/switchyard_live",
    }),
  ).action(async (options: Options) => {
    const { listInDoubt } = await import("../oversight/declare-restore.ts");
    const found = await onOwnerDatabase(options, (database) => listInDoubt(database, statusRows));
    const sessions = found.map(({ id, merchantId, orderRef, nextCheckAt }) => ({
      sessionId: encodeId("ps", id),
      merchantId: encodeId("mer", merchantId),
      orderRef,
      nextCheckAt: nextCheckAt.toISOString(),
    }));
    print(options, { sessions }, () =>
      table(["SESSION", "MERCHANT", "ORDER", "NEXT CHECK"], sessions.map(Object.values), "No session is in doubt."),
    );
  });
}

function adoptCommand(): Command {
  return addOwnerUrl(
    describedCommand("adopt", {
      description:
        "record that a session was captured at a gateway, after you checked that every other gateway captured nothing for it; the session then succeeds, unless the gateway reports otherwise, and no further capture is sent; a payment that is captured later also needs the captured amount",
      example:
        'switchyard restore adopt --url postgres://owner@db/switchyard_live --session ps_… --attempt att_… --captured 8535296650153317 --by ada --note "captured at ADYEN, whole amount"',
    }),
  )
    .requiredOption("--session <id>", "id of the session")
    .requiredOption("--attempt <id>", "id of the attempt, as in the work queue and at the gateway")
    .requiredOption("--captured <reference>", "the gateway's reference of the payment")
    .option("--amount <amount>", "captured amount and its currency, of a payment that is captured later", parseAmount)
    .requiredOption("--by <name>", "name of the person who checked; written to the audit trail")
    .requiredOption("--note <text>", "what you saw; written to the audit trail")
    .action(async (options: AdoptOptions) => {
      const sessionId = decodeId("ps", options.session);
      if (sessionId === undefined) throw new UsageError("--session must be the id of a session, such as ps_….");
      const attemptId = decodeId("att", options.attempt);
      if (attemptId === undefined) throw new UsageError("--attempt must be the id of an attempt, such as att_….");
      const gateway = await onOwnerDatabase(options, (database) =>
        database.transaction((tx) => adoptAttempt(tx, { sessionId, attemptId }, options)),
      );
      print(options, { sessionId: options.session, attemptId: options.attempt, gateway }, () => [
        `Adopted ${options.captured} at ${gateway}. A worker ends ${options.session} as succeeded.`,
      ]);
    });
}

type AdoptOptions = Options & {
  readonly session: string;
  readonly attempt: string;
  readonly captured: string;
  readonly amount?: Amount;
  readonly by: string;
  readonly note: string;
};

/** Adopts the gateway's record and writes an audit row, or refuses and says why; returns the gateway. */
async function adoptAttempt(
  tx: Tx,
  of: { sessionId: SessionId; attemptId: AttemptId },
  { session, attempt, captured: reference, amount, by, note }: AdoptOptions,
): Promise<string> {
  const actor = `command line (${by})`;
  const { adoptCaptured } = await import("../oversight/declare-restore.ts");
  const { systemRuntime } = await import("../platform/runtime.ts");
  const captured = amount && { amountMinor: Number(amount.amountMinor), currency: amount.currency };
  const found = await adoptCaptured(tx, { ...of, reference, ...captured, by: actor, note });
  if (found.type === "refused") throw new UsageError(found.reason);
  const { merchantId, gateway } = found;
  await recordAudit(tx, systemRuntime.uuid(), {
    merchantId,
    actor,
    action: "AdoptCapturedPayment",
    subject: session,
    after: { attempt, gateway, reference, ...captured, note },
    requestId: "",
  });
  return gateway;
}

function releaseCommand(): Command {
  return addOwnerUrl(
    describedCommand("release", {
      description:
        "release a session from doubt, after you checked that no gateway captured anything for it; a session with an attempt that holds money, or may, is then captured and requires --may-capture; any other session ends unpaid",
      example:
        'switchyard restore release --url postgres://owner@db/switchyard_live --session ps_… --by ada --note "no payment at ADYEN"',
    }),
  )
    .requiredOption("--session <id>", "id of the session")
    .requiredOption("--by <name>", "name of the person who checked; written to the audit trail")
    .requiredOption("--note <text>", "what you saw; written to the audit trail")
    .option("--may-capture", "release the session even if one of its attempts may then be captured")
    .action(async (options: ReleaseOptions) => {
      const sessionId = decodeId("ps", options.session);
      if (sessionId === undefined) throw new UsageError("--session must be the id of a session, such as ps_….");
      const capturable = await onOwnerDatabase(options, (database) =>
        database.transaction((tx) => releaseDoubt(tx, sessionId, options)),
      );
      print(options, { sessionId: options.session, mayTake: capturable }, () => [
        `Released ${options.session}.`,
        ...capturable.map((attempt) => `May still be captured: ${attempt}.`),
      ]);
    });
}

type ReleaseOptions = Options & {
  readonly session: string;
  readonly by: string;
  readonly note: string;
  readonly mayCapture?: boolean;
};

/** Releases the session and writes an audit row, or returns the attempts that may be captured. */
async function releaseDoubt(
  tx: Tx,
  sessionId: SessionId,
  { session, by, note, mayCapture = false }: ReleaseOptions,
): Promise<readonly string[]> {
  const { releaseFromDoubt } = await import("../oversight/declare-restore.ts");
  const { systemRuntime } = await import("../platform/runtime.ts");
  const found = await releaseFromDoubt(tx, sessionId, { mayCapture });
  if (found === undefined) throw new UsageError("The session is not in doubt.");
  const capturable = found.mayTake.map(({ id, gateway, status }) => `${encodeId("att", id)} at ${gateway} (${status})`);
  if (!found.isReleased) {
    throw new UsageError(
      `If it is released, this session may be captured by ${capturable.join(", ")}. Check these attempts at their gateways. If the capture is right and no other gateway captured anything, repeat this with --may-capture.`,
    );
  }
  await recordAudit(tx, systemRuntime.uuid(), {
    merchantId: found.merchantId,
    actor: `command line (${by})`,
    action: "ReleaseRestoredSession",
    subject: session,
    after: { note, mayTake: capturable },
    requestId: "",
  });
  return capturable;
}

/** Works on one connection without statement timeouts: the table is as large as the merchants' past. */
async function withoutLimits<Result>(url: string, work: (database: Database) => Promise<Result>): Promise<Result> {
  const { Pool } = await import("pg");
  const { Database } = await import("../platform/database.ts");
  const pool = new Pool({ ...databaseLogin(url), max: 1, pipeline: true });
  try {
    return await work(new Database(pool));
  } finally {
    await pool.end();
  }
}
