import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { grantRole, insertMember } from "../accounts/members.ts";
import { createMerchant } from "../accounts/merchants.ts";
import { hashPassword } from "../accounts/passwords.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { type DashboardFixture, memberPassword, startDashboardFixture } from "./dashboard-fixture.ts";
import { codeOf, Pages } from "./testing/pages.ts";

let dashboard: DashboardFixture;
beforeAll(async () => {
  dashboard = await startDashboardFixture({ members: true });
  await dashboard.addMember("Olive", "OWNER");
});
afterAll(() => dashboard?.close());

const pages = new Pages(() => dashboard);
const signIns = (cookie?: string) => pages.signIns(cookie);
const members = (cookie?: string) => pages.members(cookie);
const enter = (name: string) => pages.enter(name);

describe("a team", () => {
  const scope = () => ({ merchantId: dashboard.merchantId });

  it("lets an invited address in once, with the role it was invited to", async () => {
    const owner = await enter("Olive");
    await members(owner).inviteMember({ ...scope(), email: "New@Example.com", role: Role.DEVELOPER });
    const token = pages.tokenMailedTo("new@example.com");
    expect(await signIns().getInvitation({ token })).toMatchObject({
      email: "new@example.com",
      merchantName: "Corner Coffee",
      role: Role.DEVELOPER,
    });
    const accept = () => signIns().acceptInvitation({ token, name: "Newton", password: memberPassword });
    const answers = await Promise.allSettled([accept(), accept()]);
    expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await codeOf(accept())).toBe("not_found");
    const { member } = await signIns(await enter("New")).getCurrentSignIn({});
    expect(member?.memberships).toMatchObject([{ ...scope(), role: Role.DEVELOPER }]);
  });

  it("tells an invitation's link to the address alone, and takes the invitation back where the mail is refused", async () => {
    const owner = await enter("Olive");
    const invite = (email: string) => members(owner).inviteMember({ ...scope(), email, role: Role.VIEWER });
    const answer = await invite("lena@example.com");
    const token = pages.tokenMailedTo("lena@example.com");
    const told = JSON.stringify([answer, await members(owner).listMembers(scope())], (_, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    expect(told).not.toContain(token);
    expect(JSON.stringify(await dashboard.accountRows("TABLE audit_entry"))).not.toContain(token);
    dashboard.mailbox.answerWith({ addresses: { "nobody@example.com": 550 } });
    expect(await codeOf(invite("nobody@example.com"))).toBe("invalid_field");
    dashboard.mailbox.answerWith({ mail: 451 });
    expect(await codeOf(invite("later@example.com"))).toBe("unavailable");
    dashboard.mailbox.answerWith({});
    const { invitations } = await members(owner).listMembers(scope());
    expect(invitations.map(({ email }) => email)).not.toContain("nobody@example.com");
    expect(invitations.map(({ email }) => email)).not.toContain("later@example.com");
  });

  it("invites nobody where no mail can be sent, and says what to set; an operator gets the link all the same", async () => {
    const mailless = await startDashboardFixture({ members: true, mail: false });
    const own = new Pages(() => mailless);
    await mailless.addMember("Olive", "OWNER");
    const request = { merchantId: mailless.merchantId, email: "new@example.com", role: Role.VIEWER };
    const refused = own.members(await own.enter("Olive")).inviteMember(request);
    await expect(refused).rejects.toThrow("SWITCHYARD_SMTP_URL");
    expect(await mailless.accountRows("TABLE invitation")).toEqual([]);
    const operator = await mailless.hireOperator("ada");
    const { link } = await own.members(undefined, operator).makeInvitationLink(request);
    expect(link).toMatch(/^https:\/\/dashboard\.example\.com\/invitation#[\w-]{43}$/);
    await mailless.close();
  });

  it("tells who has an account by no answer about an invitation", async () => {
    await dashboard.addMember("Hugo");
    const owner = await enter("Olive");
    const answers = [];
    for (const email of ["hugo@example.com", "nobody.yet@example.com"]) {
      await members(owner).inviteMember({ ...scope(), email, role: Role.VIEWER });
      const token = pages.tokenMailedTo(email);
      const { $typeName: _, email: __, ...rest } = await signIns().getInvitation({ token });
      answers.push({
        ...rest,
        code: await codeOf(signIns().acceptInvitation({ token, password: "not the one at all" })),
      });
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.code).toBe("invalid_sign_in");
  });

  it("makes fifty invitations a day, and no more", async () => {
    const owner = await enter("Olive");
    await dashboard.accountRows(
      `INSERT INTO invitation (id, merchant_id, email, role, token_hash, invited_by, expires_at, ended_at)
       SELECT gen_random_uuid(), merchant_id, email, role, sha256(each::text::bytea), invited_by, expires_at, created_at
       FROM (SELECT * FROM invitation LIMIT 1) AS one, generate_series(1, 50) AS each`,
    );
    const invited = members(owner).inviteMember({ ...scope(), email: "one.more@example.com", role: Role.VIEWER });
    expect(await codeOf(invited)).toBe("rate_limited");
    await dashboard.accountRows("UPDATE invitation SET created_at = created_at - interval '1 day'");
  });

  it("lets a member of another merchant in with their own password, and with no other", async () => {
    await dashboard.addMember("Otto");
    const email = "otto@example.com";
    await members(await enter("Olive")).inviteMember({ ...scope(), email, role: Role.VIEWER });
    const token = pages.tokenMailedTo(email);
    const accept = (password: string) => signIns().acceptInvitation({ token, name: "Thief", password });
    expect(await codeOf(accept("a password of my own"))).toBe("invalid_sign_in");
    expect((await accept(memberPassword)).member?.name).toBe("Otto");
  });

  it("forgets an invitation that was taken back or is a week old", async () => {
    const owner = await enter("Olive");
    const invite = (email: string) => members(owner).inviteMember({ ...scope(), email, role: Role.VIEWER });
    const [revoked, old] = [await invite("revoked@example.com"), await invite("old@example.com")];
    await members(owner).revokeInvitation({ ...scope(), invitationId: revoked.invitation!.invitationId });
    await dashboard.accountRows("UPDATE invitation SET expires_at = created_at WHERE email = 'old@example.com'");
    for (const { invitation } of [revoked, old]) {
      const token = pages.tokenMailedTo(invitation!.email);
      expect(await codeOf(signIns().getInvitation({ token }))).toBe("not_found");
    }
  });

  it("keeps its last owner, also when two of them leave at the same moment", async () => {
    const merchant = { id: systemEntropy.uuid(), name: "Two Owners" };
    await createMerchant(dashboard.accounts, merchant);
    const merchantId = encodeId("mer", merchant.id);
    const hash = await hashPassword(new Secret(memberPassword));
    const owners = ["ann", "ben"].map((name) => ({ id: systemEntropy.uuid(), name, email: `${name}@example.com` }));
    for (const owner of owners) {
      await insertMember(dashboard.accounts, owner, hash);
      await dashboard.accounts.transaction((tx) => grantRole(tx, merchant.id, owner.id, "OWNER"));
    }
    const cookies = await Promise.all(owners.map(({ name }) => enter(name)));
    const leave = owners.map(({ id }, at) =>
      members(cookies[at]).removeMember({ merchantId, memberId: encodeId("mbr", id) }),
    );
    const results = await Promise.allSettled(leave);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const left = await dashboard.accountRows("SELECT role FROM membership WHERE merchant_id = $1", [merchant.id]);
    expect(left).toEqual([{ role: "OWNER" }]);
  });

  it("forgets what a member has invited to who may invite no more, and lowers nobody by an old link", async () => {
    const { memberId } = await dashboard.addMember("Una", "OWNER");
    const [una, olive] = [await enter("Una"), await enter("Olive")];
    await members(una).inviteMember({ ...scope(), email: "una.home@example.com", role: Role.OWNER });
    await members(olive).changeMemberRole({ ...scope(), memberId, role: Role.VIEWER });
    const back = pages.tokenMailedTo("una.home@example.com");
    expect(await codeOf(signIns().getInvitation({ token: back }))).toBe("not_found");
    await dashboard.addMember("Ivy");
    await members(olive).inviteMember({ ...scope(), email: "ivy@example.com", role: Role.VIEWER });
    await dashboard.accountRows(
      "INSERT INTO membership (merchant_id, member_id, role) SELECT s.merchant_id, m.id, 'OWNER' FROM membership s, member m WHERE m.email = 'ivy@example.com' LIMIT 1",
    );
    const accept = signIns().acceptInvitation({
      token: pages.tokenMailedTo("ivy@example.com"),
      password: memberPassword,
    });
    expect(await codeOf(accept)).toBe("not_found");
  });

  it("takes a role away at once: the next call is refused", async () => {
    const { memberId } = await dashboard.addMember("Rex", "DEVELOPER");
    const cookie = await enter("Rex");
    await members(cookie).listMembers(scope());
    await members(await enter("Olive")).removeMember({ ...scope(), memberId });
    expect(await codeOf(members(cookie).listMembers(scope()))).toBe("not_found");
  });

  it("reads its changes in the audit trail, with who made them", async () => {
    const rows = await dashboard.accountRows<{ actor: string; action: string }>("TABLE audit_entry");
    const invited = rows.filter(({ action }) => action === "InviteMember");
    expect(invited.length).toBeGreaterThan(0);
    for (const { actor } of invited) expect(actor).toMatch(/^(olive|una)@example\.com \(mbr_\w{26}\)$/);
  });
});
