/**
 * `switchyard member`: creates a merchant's first dashboard member in the accounts database, invites others, and resets
 * lost passwords.
 */
import { userInfo } from "node:os";
import { Command, Option } from "commander";
import { recordAudit } from "../accounts/audit-trail.ts";
import {
  grantRoles,
  insertMember,
  type LiveRole,
  liveRoles,
  type MemberRole,
  memberRoles,
  normalizeEmail,
  type Roles,
} from "../accounts/members.ts";
import { findMerchant } from "../accounts/merchants.ts";
import { findNameProblem } from "../accounts/names.ts";
import { hashPassword } from "../accounts/passwords.ts";
import type { Database, Tx } from "../platform/database.ts";
import { decodeId, encodeId, type MemberId, type MerchantId } from "../platform/ids.ts";
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

type RoleOptions = { role: Lowercase<MemberRole>; liveRole?: Lowercase<LiveRole> };
type TeamOptions = AttachOptions & { merchant?: string };
type InviteOptions = TeamOptions & RoleOptions & { email: string };
type RecoveryOptions = AttachOptions & { email: string };
type MemberOptions = OutputOptions & RoleOptions & { email: string; name: string; merchant: string };

// 128 bits. The member should change it at once, and so types it only once.
const firstPasswordBytes = 16;

export function membersCommand(): Command {
  return new Command("member")
    .addHelpText("after", "\nExample:\n  switchyard member create --email ada@example.com --name Ada --merchant mer_…")
    .addCommand(createCommand())
    .addCommand(inviteCommand())
    .addCommand(listCommand())
    .addCommand(setRoleCommand())
    .addCommand(resetPasswordCommand())
    .addCommand(removeSecondFactorsCommand())
    .addCommand(breakGlassCommand());
}

const roleOption = () =>
  new Option("--role <role>", "what the member may do in test, and in live unless --live-role says otherwise").choices(
    namesOf(memberRoles),
  );
const liveRoleOption = () =>
  new Option("--live-role <role>", "what the member may do in live; an owner is one in both").choices(
    namesOf(liveRoles),
  );
const namesOf = (roles: readonly LiveRole[]) => roles.map((role) => role.toLowerCase());

function rolesOf({ role, liveRole = role }: RoleOptions): Roles {
  if ((role === "owner") !== (liveRole === "owner")) {
    throw new UsageError("An owner is one in test and live: give owner for --role and --live-role, or for neither.");
  }
  return { role: role.toUpperCase() as MemberRole, liveRole: liveRole.toUpperCase() as LiveRole };
}

function roleFields(options: RoleOptions) {
  const { role, liveRole } = rolesOf(options);
  return { role: `ROLE_${role}`, liveRole: `ROLE_${liveRole}` } as const;
}

const wordOf = (role = "") => role.replace(/^ROLE_/, "").toLowerCase();

function listCommand(): Command {
  const command = operatorCommand("list", {
    description: "list a merchant's members with their roles in test and live",
    example: "switchyard member list",
  });
  return addMerchant(command).action(async (options: TeamOptions) => {
    const { merchantId } = scopeOf({ ...options, environment: "test" });
    await administer(
      options,
      ({ members }) => members.listMembers({ merchantId }),
      ({ members = [] }) =>
        members.map(
          ({ email, role, liveRole, hasTotp, hasPasskey }) =>
            `${email}  test: ${wordOf(role)}  live: ${wordOf(liveRole)}  second factor: ${hasTotp || hasPasskey ? "yes" : "no"}`,
        ),
    );
  });
}

function setRoleCommand(): Command {
  const command = operatorCommand("set-role", {
    description: "change a member's roles in test and live",
    example: "switchyard member set-role --email grace@example.com --role developer --live-role support",
  });
  return addMerchant(command)
    .requiredOption("--email <address>", "address of the member")
    .addOption(roleOption().makeOptionMandatory())
    .addOption(liveRoleOption())
    .action(async ({ email, ...options }: InviteOptions) => {
      const { merchantId } = scopeOf({ ...options, environment: "test" });
      const wanted = roleFields(options);
      await administer(
        options,
        async ({ members }) => {
          const team = await members.listMembers({ merchantId });
          const memberId = team.members?.find((member) => member.email === normalizeEmail(email))?.memberId;
          if (memberId === undefined) throw new UsageError("No member has this address. See: switchyard member list");
          return members.changeMemberRole({ merchantId, memberId, ...wanted });
        },
        () => [`${email} is ${wordOf(wanted.role)} in test, ${wordOf(wanted.liveRole)} in live.`],
      );
    });
}

function inviteCommand(): Command {
  const command = operatorCommand("invite", {
    description:
      "create an invitation to the dashboard and print its link; the link works once and signs up its opener under this address",
    example: "switchyard member invite --email grace@example.com --role developer",
  });
  return addMerchant(command)
    .requiredOption("--email <address>", "address that the member signs in with")
    .addOption(roleOption().default("viewer"))
    .addOption(liveRoleOption())
    .action(async ({ email, ...options }: InviteOptions) => {
      const { merchantId } = scopeOf({ ...options, environment: "test" });
      const wanted = { merchantId, email, ...roleFields(options) };
      await administer(
        options,
        ({ members }) => members.makeInvitationLink(wanted),
        ({ link = "" }) => [`Send this link to ${email} only. It works once:`, `  ${link}`],
      );
    });
}

function resetPasswordCommand(): Command {
  return operatorCommand("reset-password", {
    description: "print a link with which a member chooses a new password; it works once, within an hour",
    example: "switchyard member reset-password --email ada@example.com",
  })
    .requiredOption("--email <address>", "address of the member")
    .action(async ({ email, ...options }: RecoveryOptions) => {
      await administer(
        options,
        ({ members }) => members.resetMemberPassword({ email }),
        ({ link = "", expiresAt = "" }) => [
          `Send this link to ${email} only. It works once, until ${expiresAt}:`,
          `  ${link}`,
          "Signing in still requires the authenticator app, if there is one. If it is lost too: switchyard member remove-second-factors",
        ],
      );
    });
}

function removeSecondFactorsCommand(): Command {
  return operatorCommand("remove-second-factors", {
    description: "remove a member's lost authenticator app and passkeys, and end all of their sign-ins",
    example: "switchyard member remove-second-factors --email ada@example.com",
  })
    .requiredOption("--email <address>", "address of the member; make sure that the request comes from them")
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

function breakGlassCommand(): Command {
  return operatorCommand("break-glass", {
    description:
      "let an owner sign in by password or passkey although their company's identity provider is to be used alone; each such sign-in is mailed to the owners",
    example: "switchyard member break-glass --email ada@example.com",
  })
    .requiredOption("--email <address>", "address of the owner")
    .option("--end", "end it")
    .action(async ({ email, end = false, ...options }: RecoveryOptions & { end?: boolean }) => {
      await administer(
        options,
        ({ members }) => members.setBreakGlass({ email, isBreakGlass: !end }),
        () => [
          end ? `${email} is no longer a break-glass owner.` : `${email} may sign in without the identity provider.`,
        ],
      );
    });
}

function createCommand(): Command {
  return describedCommand("create", {
    description:
      "create a member with a password that is shown only once; reads SWITCHYARD_ACCOUNTS_DATABASE_URL. After the first member, invite people on the dashboard instead",
    example: "switchyard member create --email ada@example.com --name Ada --merchant mer_01h455vb4pex5vsknk084sn02q",
  })
    .requiredOption("--email <address>", "address that the member signs in with")
    .requiredOption("--name <name>", "name that colleagues see")
    .requiredOption("--merchant <id>", "merchant whose dashboard the member uses")
    .addOption(roleOption().default("owner"))
    .addOption(liveRoleOption())
    .action(async (options: MemberOptions) => {
      const made = await onAccounts((accounts) => makeMember(accounts, options));
      print(options, made, ({ memberId, password }) => [
        `${options.email} may sign in as ${options.role} (${memberId}). The password, shown only once:`,
        `  ${password}`,
        "Change it at once, on the dashboard under your name > Password.",
      ]);
    });
}

async function makeMember(accounts: Database, { email: given, name, merchant, ...options }: MemberOptions) {
  const roles = rolesOf(options);
  const email = normalizeEmail(given);
  if (email === undefined) throw new UsageError("--email must be an address, such as ada@example.com.");
  const problem = findNameProblem(name);
  if (problem !== undefined) throw new UsageError(`--name ${problem}.`);
  const merchantId = decodeId("mer", merchant);
  if (merchantId === undefined || (await findMerchant(accounts, merchantId)) === undefined) {
    throw new UsageError("There is no merchant with this id. To list merchants: switchyard merchant list");
  }
  const { systemRuntime } = await import("../platform/runtime.ts");
  const password = new Secret(Buffer.from(systemRuntime.randomBytes(firstPasswordBytes)).toString("base64url"));
  const hash = await hashPassword(password);
  const id = systemRuntime.uuid();
  await accounts.transaction(async (tx) => {
    if (!(await insertMember(tx, { id, email, name }, hash))) {
      throw new UsageError("A member with this address exists already. An owner can invite it on the dashboard.");
    }
    await grantRoles(tx, merchantId, id, roles);
    await recordCreation(tx, { id, merchantId, after: { email, ...roles } });
  });
  return { memberId: encodeId("mbr", id), password: password.expose() };
}

/** A person who has the database's password is not an operator with a token: the row names the machine's user. */
async function recordCreation(tx: Tx, made: { id: MemberId; merchantId: MerchantId; after: object }): Promise<void> {
  const { systemRuntime } = await import("../platform/runtime.ts");
  const { id, merchantId, after } = made;
  const who = { actor: `command line (${userInfo().username})`, requestId: encodeId("req", systemRuntime.uuid()) };
  const fact = { merchantId, memberId: id, ...who, action: "CreateMember", subject: encodeId("mbr", id), after };
  await recordAudit(tx, systemRuntime.uuid(), fact);
}
