/** `switchyard member`: the dashboard's first member of a merchant, by the accounts database itself; invitations, lost passwords. */
import { userInfo } from "node:os";
import { Command, Option } from "commander";
import { recordAudit } from "../accounts/audit-trail.ts";
import { grantRole, insertMember, type MemberRole, memberRoles, normalizeEmail } from "../accounts/members.ts";
import { findMerchant } from "../accounts/merchants.ts";
import { hashPassword } from "../accounts/passwords.ts";
import type { Database, Tx } from "../platform/database.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import {
  type AttachOptions,
  addMerchant,
  administer,
  describedCommand,
  operatorCommand,
  scopeOf,
  UsageError,
} from "./attachment.ts";
import { onAccounts } from "./operator.ts";
import { type OutputOptions, print } from "./output.ts";

type InviteOptions = AttachOptions & { merchant?: string; email: string; role: Lowercase<MemberRole> };
type RecoveryOptions = AttachOptions & { email: string };
type MemberOptions = OutputOptions & { email: string; name: string; merchant: string; role: Lowercase<MemberRole> };

// 128 bits; it is to be changed at the first sign-in, and nobody has to type it twice.
const firstPasswordBytes = 16;

/** Lets the first people into the dashboard. */
export function membersCommand(): Command {
  return new Command("member")
    .description("people who sign in to the dashboard")
    .addHelpText("after", "\nExample:\n  switchyard member create --email ada@example.com --name Ada --merchant mer_…")
    .addCommand(createCommand())
    .addCommand(inviteCommand())
    .addCommand(resetPasswordCommand())
    .addCommand(removeSecondFactorsCommand());
}

const roleOption = () => new Option("--role <role>", "what the member may do").choices(roleNames);
const roleNames = memberRoles.map((role) => role.toLowerCase());

function inviteCommand(): Command {
  const command = operatorCommand("invite", {
    description:
      "make an invitation to the dashboard and print its link, which works once: whoever opens it joins in the address's name",
    example: "switchyard member invite --email grace@example.com --role developer",
  });
  return addMerchant(command)
    .requiredOption("--email <address>", "signs in with it")
    .addOption(roleOption().default("viewer"))
    .action(async ({ email, role, ...options }: InviteOptions) => {
      const { merchantId } = scopeOf({ ...options, environment: "test" });
      const wanted = { merchantId, email, role: `ROLE_${role.toUpperCase() as MemberRole}` as const };
      await administer(
        options,
        ({ members }) => members.makeInvitationLink(wanted),
        ({ link = "" }) => [`Send this link to ${email} and to nobody else; it works once:`, `  ${link}`],
      );
    });
}

function resetPasswordCommand(): Command {
  return operatorCommand("reset-password", {
    description: "make a link by which a member chooses a new password, once and within an hour, and print it",
    example: "switchyard member reset-password --email ada@example.com",
  })
    .requiredOption("--email <address>", "whose")
    .action(async ({ email, ...options }: RecoveryOptions) => {
      await administer(
        options,
        ({ members }) => members.resetMemberPassword({ email }),
        ({ link = "", expiresAt = "" }) => [
          `Send this link to ${email} and to nobody else; it works once, until ${expiresAt}:`,
          `  ${link}`,
          "An authenticator app is still asked for. Is it lost too: switchyard member remove-second-factors",
        ],
      );
    });
}

function removeSecondFactorsCommand(): Command {
  return operatorCommand("remove-second-factors", {
    description: "remove a member's lost authenticator app and passkeys, and end every sign-in of theirs",
    example: "switchyard member remove-second-factors --email ada@example.com",
  })
    .requiredOption("--email <address>", "whose; be sure that it is them who ask")
    .action(async ({ email, ...options }: RecoveryOptions) => {
      await administer(
        options,
        ({ members }) => members.removeSecondFactors({ email }),
        ({ hadTotp, removedPasskeys, endedSignIns }) => [
          `${hadTotp ? "The authenticator app" : "No authenticator app"} and ${removedPasskeys} passkey(s) of ${email} were removed, ${endedSignIns} sign-in(s) ended.`,
        ],
      );
    });
}

function createCommand(): Command {
  return describedCommand("create", {
    description:
      "make a member with a password that is shown this once; reads SWITCHYARD_ACCOUNTS_DATABASE_URL. Everybody after the first is better invited on the dashboard",
    example: "switchyard member create --email ada@example.com --name Ada --merchant mer_01h455vb4pex5vsknk084sn02q",
  })
    .requiredOption("--email <address>", "signs in with it")
    .requiredOption("--name <name>", "what colleagues see")
    .requiredOption("--merchant <id>", "whose dashboard")
    .addOption(roleOption().default("owner"))
    .action(async (options: MemberOptions) => {
      const made = await onAccounts((accounts) => makeMember(accounts, options));
      print(options, made, ({ memberId, password }) => [
        `${options.email} may sign in as ${options.role} (${memberId}). The password, shown this once:`,
        `  ${password}`,
        "It is to be changed at the first sign-in: dashboard, own name, Password.",
      ]);
    });
}

async function makeMember(accounts: Database, { email: given, name, merchant, role }: MemberOptions) {
  const email = normalizeEmail(given);
  if (email === undefined) throw new UsageError("--email must be an address, such as ada@example.com.");
  const merchantId = decodeId("mer", merchant);
  if (merchantId === undefined || (await findMerchant(accounts, merchantId)) === undefined) {
    throw new UsageError("There is no merchant with this id. To see them: switchyard merchant list");
  }
  const password = new Secret(Buffer.from(systemEntropy.randomBytes(firstPasswordBytes)).toString("base64url"));
  const hash = await hashPassword(password);
  const id = systemEntropy.uuid();
  await accounts.transaction(async (tx) => {
    if (!(await insertMember(tx, { id, email, name }, hash))) {
      throw new UsageError("Somebody has this address already. An owner can invite it on the dashboard.");
    }
    await grantRole(tx, merchantId, id, role.toUpperCase() as MemberRole);
    await recordCreation(tx, { id, merchantId, after: { email, role: role.toUpperCase() } });
  });
  return { memberId: encodeId("mbr", id), password: password.expose() };
}

/** Whoever has the database's password is no operator by token: the row names the machine's user. */
async function recordCreation(tx: Tx, made: { id: string; merchantId: string; after: object }): Promise<void> {
  const { id, merchantId, after } = made;
  const who = { actor: `command line (${userInfo().username})`, requestId: encodeId("req", systemEntropy.uuid()) };
  const fact = { merchantId, memberId: id, ...who, action: "CreateMember", subject: encodeId("mbr", id), after };
  await recordAudit(tx, systemEntropy.uuid(), fact);
}
