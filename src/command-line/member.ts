/** `switchyard member`: the dashboard's first member of a merchant, by the accounts database itself, and invitations of others. */
import { Command, Option } from "commander";
import { grantRole, insertMember, type MemberRole, memberRoles, normalizeEmail } from "../accounts/members.ts";
import { findMerchant } from "../accounts/merchants.ts";
import { hashPassword } from "../accounts/passwords.ts";
import type { Database } from "../platform/database.ts";
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
type MemberOptions = OutputOptions & { email: string; name: string; merchant: string; role: Lowercase<MemberRole> };

// 128 bits; it is to be changed at the first sign-in, and nobody has to type it twice.
const firstPasswordBytes = 16;

/** Lets the first people into the dashboard. */
export function membersCommand(): Command {
  return new Command("member")
    .description("people who sign in to the dashboard")
    .addHelpText("after", "\nExample:\n  switchyard member create --email ada@example.com --name Ada --merchant mer_…")
    .addCommand(createCommand())
    .addCommand(inviteCommand());
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
  });
  return { memberId: encodeId("mbr", id), password: password.expose() };
}
