/** `switchyard restore`: what has to be done after a database was brought back from a backup, before a role runs on it. */
import { Command } from "commander";
import { Pool } from "pg";
import { recordAudit } from "../accounts/audit-trail.ts";
import { endEverySignIn } from "../accounts/end-sign-ins.ts";
import { declareRestore, findConnected, listInDoubt, releaseFromDoubt } from "../core/declare-restore.ts";
import { Database, type Tx } from "../platform/database.ts";
import { databaseLogin } from "../platform/database-address.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { describedCommand, UsageError } from "./attachment.ts";
import { type OutputOptions, print, table } from "./output.ts";
import { addOwnerUrl, type OwnerUrlOptions, ownerUrlOf } from "./owner-url.ts";
import { parseTime } from "./times.ts";

type Options = OutputOptions & OwnerUrlOptions;

/** After a restore: declare it, see what is in doubt, release what a person has looked at. */
export function restoreCommand(): Command {
  return new Command("restore")
    .description("after a database was brought back from a backup (docs/backup.md)")
    .addCommand(declareCommand())
    .addCommand(accountsCommand())
    .addCommand(statusCommand())
    .addCommand(releaseCommand());
}

function declareCommand(): Command {
  const command = describedCommand("declare", {
    description:
      "put every session in doubt that may have gone on after the backup, before any role is started; the workers then ask the gateways",
    example:
      "switchyard restore declare --url postgres://owner@db/switchyard_live --backup-taken-at 2026-11-01T03:00:00Z",
  });
  return addOwnerUrl(command)
    .option("--backup-taken-at <time>", "sessions that had expired by then are left to expire", parseTime)
    .action(async (options: Options & { backupTakenAt?: string }) => {
      const sessions = await withoutLimits(ownerUrlOf(options), async (database) => {
        const connected = await findConnected(database);
        if (connected.length > 0) {
          throw new UsageError(`Stop every role first: ${connected.join(", ")} is connected to this database.`);
        }
        const { backupTakenAt } = options;
        return declareRestore(database, { backupTakenAt: backupTakenAt ? new Date(backupTakenAt) : undefined });
      });
      print(options, { sessions }, () => [
        `${sessions} sessions are in doubt. Start the roles; the workers ask the gateways about them from a minute on.`,
      ]);
    });
}

function accountsCommand(): Command {
  const command = describedCommand("end-sign-ins", {
    description: "end every sign-in, invitation and password link that the backup of the accounts' database held",
    example: "switchyard restore end-sign-ins --url postgres://owner@db/switchyard_accounts",
  });
  return addOwnerUrl(command).action(async (options: Options) => {
    const ended = await onDatabase(ownerUrlOf(options), endEverySignIn);
    print(options, ended, ({ signIns, invitations, passwordLinks }) => [
      `Ended ${signIns} sign-ins, ${invitations} invitations and ${passwordLinks} password links.`,
    ]);
  });
}

// A screen or two; those that stay are looked at one by one.
const statusRows = 100;

function statusCommand(): Command {
  return addOwnerUrl(
    describedCommand("status", {
      description: "list the sessions of which gateways have not told yet what was done",
      example: "switchyard restore status --url postgres://owner@db/switchyard_live",
    }),
  ).action(async (options: Options) => {
    const found = await onDatabase(ownerUrlOf(options), (database) => listInDoubt(database, statusRows));
    const sessions = found.map(({ id, merchantId, orderRef, nextCheckAt }) => ({
      sessionId: encodeId("ps", id),
      merchantId: encodeId("mer", merchantId),
      orderRef,
      nextCheckAt: nextCheckAt.toISOString(),
    }));
    print(options, { sessions }, () =>
      table(["SESSION", "MERCHANT", "ORDER", "ASKED AGAIN"], sessions.map(Object.values), "Nothing is in doubt."),
    );
  });
}

function releaseCommand(): Command {
  return addOwnerUrl(
    describedCommand("release", {
      description:
        "let one session go on, after you have seen at every gateway that nothing was taken for it; it then goes by its own rows: one with an attempt that is held, or may be, takes the money, so it asks for --may-capture, and any other ends as never paid",
      example:
        'switchyard restore release --url postgres://owner@db/switchyard_live --session ps_… --by ada --note "no payment at ADYEN"',
    }),
  )
    .requiredOption("--session <id>", "the session")
    .requiredOption("--by <name>", "who has looked; the audit trail says so")
    .requiredOption("--note <text>", "what was seen")
    .option("--may-capture", "release it also when it may then take money by an attempt of its own")
    .action(async (options: ReleaseOptions) => {
      const sessionId = decodeId("ps", options.session);
      if (sessionId === undefined) throw new UsageError("--session names no session.");
      const mayTake = await onDatabase(ownerUrlOf(options), (database) =>
        database.transaction((tx) => releaseAsTold(tx, sessionId, options)),
      );
      print(options, { sessionId: options.session, mayTake }, () => [
        `Released ${options.session}.`,
        ...mayTake.map((attempt) => `May still be captured: ${attempt}.`),
      ]);
    });
}

type ReleaseOptions = Options & {
  readonly session: string;
  readonly by: string;
  readonly note: string;
  readonly mayCapture?: boolean;
};

/** Releases and records it, or refuses and says by which attempts money may be taken; returns these. */
async function releaseAsTold(
  tx: Tx,
  sessionId: string,
  { session, by, note, mayCapture = false }: ReleaseOptions,
): Promise<readonly string[]> {
  const found = await releaseFromDoubt(tx, sessionId, { mayCapture });
  if (found === undefined) throw new UsageError("The session is in no doubt.");
  const mayTake = found.mayTake.map(({ id, gateway, status }) => `${encodeId("att", id)} at ${gateway} (${status})`);
  if (!found.isReleased) {
    throw new UsageError(
      `Once it is released this session may take money by ${mayTake.join(", ")}. Look there: is it right that it is captured, and was nothing taken elsewhere, repeat this with --may-capture.`,
    );
  }
  await recordAudit(tx, systemEntropy.uuid(), {
    ...{ merchantId: found.merchantId, actor: `command line (${by})`, action: "ReleaseRestoredSession" },
    ...{ subject: session, after: { note, mayTake }, requestId: "" },
  });
  return mayTake;
}

/** On one connection whose statements take as long as they take: the table is as large as the merchants' past. */
async function withoutLimits<Result>(url: string, work: (database: Database) => Promise<Result>): Promise<Result> {
  const pool = new Pool({ ...databaseLogin(url), max: 1 });
  try {
    return await work(new Database(pool));
  } finally {
    await pool.end();
  }
}

async function onDatabase<Result>(url: string, work: (database: Database) => Promise<Result>): Promise<Result> {
  const { openDatabase } = await import("../environment.ts");
  const { orm, database } = await openDatabase(new Secret(url), []);
  try {
    return await work(database);
  } finally {
    await orm.close(true);
  }
}
