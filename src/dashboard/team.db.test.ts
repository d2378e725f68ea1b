import { describe, expect, it, onTestFinished } from "vitest";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { asOwner, grantRoles, insertMember, lockTeam } from "../accounts/members.ts";
import { createMerchant } from "../accounts/merchants.ts";
import { hashPassword } from "../accounts/passwords.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { Secret } from "../platform/secrets.ts";
import { memberPassword, startDashboardFixture } from "./dashboard.fixture.ts";

const dashboard = await forFile(() => startDashboardFixture({ members: true }));
await dashboard.addMember("Olive", "OWNER");

const pages = new Pages(() => dashboard);
const signIns = (cookie?: string) => pages.signIns(cookie);
const members = (cookie?: string) => pages.members(cookie);
const enter = (name: string) => pages.enter(name);

describe("a team", () => {
  const scope = () => ({ merchantId: dashboard.merchantId });

  it("admits an invited address once, with the role of the invitation", async () => {
    const owner = await enter("Olive");
    await members(owner).inviteMember({
      ...scope(),
      email: "New@Example.com",
      role: Role.DEVELOPER,
      liveRole: Role.DEVELOPER,
    });
    const token = pages.tokenMailedTo("new@example.com");
    expect(await signIns().getInvitation({ token })).toMatchObject({
      email: "new@example.com",
      merchantName: "Corner Coffee",
      role: Role.DEVELOPER,
      liveRole: Role.DEVELOPER,
    });
    const accept = () => signIns().acceptInvitation({ token, name: "Newton", password: memberPassword });
    const answers = await Promise.allSettled([accept(), accept()]);
    expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await codeOf(accept())).toBe("not_found");
    const { member } = await signIns(await enter("New")).getCurrentSignIn({});
    expect(member?.memberships).toMatchObject([{ ...scope(), role: Role.DEVELOPER }]);
  });

  it("puts no name into the subject of an invitation, and takes no name with a link", async () => {
    const owner = await enter("Olive");
    await members(owner).inviteMember({
      ...scope(),
      email: "linus@example.com",
      role: Role.VIEWER,
      liveRole: Role.VIEWER,
    });
    const mail = dashboard.mailbox.mails.findLast(({ to }) => to.includes("linus@example.com"))!;
    expect(new Map(mail.headers).get("subject")).toBe("Invitation to a payment dashboard");
    const token = pages.tokenMailedTo("linus@example.com");
    const accept = (name: string) => signIns().acceptInvitation({ token, name, password: memberPassword });
    expect(await codeOf(accept("Linus of evil.example"))).toBe("invalid_field");
    expect(await codeOf(accept("Linus \u202e"))).toBe("invalid_field");
    await accept("Linus");
  });

  it("orders a revocation and an acceptance of the same invitation, and the first one counts", async () => {
    const owner = await enter("Olive");
    const { invitation } = await members(owner).inviteMember({
      ...scope(),
      email: "rue@example.com",
      role: Role.VIEWER,
      liveRole: Role.VIEWER,
    });
    const token = pages.tokenMailedTo("rue@example.com");
    const locked = Promise.withResolvers<void>();
    const bothWait = Promise.withResolvers<void>();
    onTestFinished(() => bothWait.resolve());
    const held = dashboard.accounts.transaction(async (tx) => {
      await lockTeam(tx, decodeId("mer", dashboard.merchantId)!);
      locked.resolve();
      await bothWait.promise;
    });
    await locked.promise;
    const revoked = members(owner).revokeInvitation({ ...scope(), invitationId: invitation!.invitationId });
    await dashboard.waitForLock("pg_advisory_xact_lock");
    const accepted = signIns().acceptInvitation({ token, name: "Rue", password: memberPassword });
    await dashboard.waitForLock("pg_advisory_xact_lock", 2);
    // A caller that waits for the team must hold no invitation, or the other one, which has the team, would deadlock.
    await dashboard.accountRows("SELECT id FROM invitation WHERE email = 'rue@example.com' FOR UPDATE NOWAIT");
    bothWait.resolve();
    const answers = await Promise.all([revoked.then(() => "revoked"), codeOf(accepted), held]);
    expect(answers.slice(0, 2)).toEqual(["revoked", "not_found"]);
  });

  it("mails an invitation's link to the address only, and revokes the invitation if the mail is refused", async () => {
    const owner = await enter("Olive");
    const invite = (email: string) =>
      members(owner).inviteMember({ ...scope(), email, role: Role.VIEWER, liveRole: Role.VIEWER });
    const answer = await invite("lena@example.com");
    const token = pages.tokenMailedTo("lena@example.com");
    const answers = JSON.stringify([answer, await members(owner).listMembers(scope())], (_, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    expect(answers).not.toContain(token);
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

  it("shows the link to the owner where no mail can be sent, and to an operator", async () => {
    const mailless = await startDashboardFixture({ members: true, mail: false });
    const own = new Pages(() => mailless);
    await mailless.addMember("Olive", "OWNER");
    const request = {
      merchantId: mailless.merchantId,
      email: "new@example.com",
      role: Role.VIEWER,
      liveRole: Role.VIEWER,
    };
    const linkShape = /^https:\/\/dashboard\.example\.com\/invitation#[\w-]{43}$/;
    const { unmailedLink } = await own.members(await own.enter("Olive")).inviteMember(request);
    expect(unmailedLink).toMatch(linkShape);
    const token = unmailedLink.split("#")[1]!;
    expect(await own.signIns().getInvitation({ token })).toMatchObject({ email: "new@example.com" });
    expect(JSON.stringify(await mailless.accountRows("TABLE audit_entry"))).not.toContain(token);
    const operator = await mailless.hireOperator("ada");
    const { link } = await own.members(undefined, operator).makeInvitationLink(request);
    expect(link).toMatch(linkShape);
    await mailless.close();
  });

  it("never reveals in an answer about an invitation who has an account", async () => {
    await dashboard.addMember("Hugo");
    const owner = await enter("Olive");
    const answers = [];
    for (const email of ["hugo@example.com", "nobody.yet@example.com"]) {
      await members(owner).inviteMember({ ...scope(), email, role: Role.VIEWER, liveRole: Role.VIEWER });
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

  it("makes at most fifty invitations a day", async () => {
    const owner = await enter("Olive");
    await dashboard.accountRows(
      `INSERT INTO invitation (id, merchant_id, email, role, live_role, token_hash, invited_by, expires_at, ended_at)
       SELECT gen_random_uuid(), merchant_id, email, role, live_role, sha256(each::text::bytea), invited_by, expires_at, created_at
       FROM (SELECT * FROM invitation LIMIT 1) AS one, generate_series(1, 50) AS each`,
    );
    const invited = members(owner).inviteMember({
      ...scope(),
      email: "one.more@example.com",
      role: Role.VIEWER,
      liveRole: Role.VIEWER,
    });
    expect(await codeOf(invited)).toBe("rate_limited");
    await dashboard.accountRows("UPDATE invitation SET created_at = created_at - interval '1 day'");
  });

  it("admits a member of another merchant with their own password, and with no other", async () => {
    await dashboard.addMember("Otto");
    const email = "otto@example.com";
    await members(await enter("Olive")).inviteMember({ ...scope(), email, role: Role.VIEWER, liveRole: Role.VIEWER });
    const token = pages.tokenMailedTo(email);
    const accept = (password: string) => signIns().acceptInvitation({ token, name: "Thief", password });
    expect(await codeOf(accept("a password of my own"))).toBe("invalid_sign_in");
    expect((await accept(memberPassword)).member?.name).toBe("Otto");
  });

  it("expires an invitation that was revoked or is a week old", async () => {
    const owner = await enter("Olive");
    const invite = (email: string) =>
      members(owner).inviteMember({ ...scope(), email, role: Role.VIEWER, liveRole: Role.VIEWER });
    const [revoked, old] = [await invite("revoked@example.com"), await invite("old@example.com")];
    await members(owner).revokeInvitation({ ...scope(), invitationId: revoked.invitation!.invitationId });
    await dashboard.accountRows("UPDATE invitation SET expires_at = created_at WHERE email = 'old@example.com'");
    for (const { invitation } of [revoked, old]) {
      const token = pages.tokenMailedTo(invitation!.email);
      expect(await codeOf(signIns().getInvitation({ token }))).toBe("not_found");
    }
  });

  it("keeps its last owner, also when two of them leave at the same moment", async () => {
    const merchant = { id: systemRuntime.uuid(), name: "Two Owners" };
    await createMerchant(dashboard.accounts, merchant);
    const merchantId = encodeId("mer", merchant.id);
    const hash = await hashPassword(new Secret(memberPassword));
    const owners = ["ann", "ben"].map((name) => ({ id: systemRuntime.uuid(), name, email: `${name}@example.com` }));
    for (const owner of owners) {
      await insertMember(dashboard.accounts, owner, hash);
      await dashboard.accounts.transaction((tx) => grantRoles(tx, merchant.id, owner.id, asOwner));
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

  it("revokes the invitations of a member who may no longer invite, and demotes no one by an old link", async () => {
    const { memberId } = await dashboard.addMember("Una", "OWNER");
    const [una, olive] = [await enter("Una"), await enter("Olive")];
    await members(una).inviteMember({
      ...scope(),
      email: "una.home@example.com",
      role: Role.OWNER,
      liveRole: Role.OWNER,
    });
    await members(olive).changeMemberRole({ ...scope(), memberId, role: Role.VIEWER, liveRole: Role.VIEWER });
    const back = pages.tokenMailedTo("una.home@example.com");
    expect(await codeOf(signIns().getInvitation({ token: back }))).toBe("not_found");
    await dashboard.addMember("Ivy");
    await members(olive).inviteMember({
      ...scope(),
      email: "ivy@example.com",
      role: Role.VIEWER,
      liveRole: Role.VIEWER,
    });
    await dashboard.accountRows(
      "INSERT INTO membership (merchant_id, member_id, role, live_role) SELECT s.merchant_id, m.id, 'OWNER', 'OWNER' FROM membership s, member m WHERE m.email = 'ivy@example.com' LIMIT 1",
    );
    const accept = signIns().acceptInvitation({
      token: pages.tokenMailedTo("ivy@example.com"),
      password: memberPassword,
    });
    expect(await codeOf(accept)).toBe("not_found");
  });

  it("revokes a role at once: the next call is refused", async () => {
    const { memberId } = await dashboard.addMember("Rex", "DEVELOPER");
    const cookie = await enter("Rex");
    await members(cookie).listMembers(scope());
    await members(await enter("Olive")).removeMember({ ...scope(), memberId });
    expect(await codeOf(members(cookie).listMembers(scope()))).toBe("not_found");
  });

  it("takes the alerts from a member who leaves, and from no one else", async () => {
    const { memberId } = await dashboard.addMember("Max", "DEVELOPER");
    await dashboard.rows(
      "UPDATE merchant_settings SET alert_addresses = '{Max@example.com,ops@example.com}', confirmed_addresses = '{Max@example.com}'",
    );
    await members(await enter("Olive")).removeMember({ ...scope(), memberId });
    expect(await dashboard.rows("SELECT alert_addresses, confirmed_addresses FROM merchant_settings")).toEqual([
      { alert_addresses: ["ops@example.com"], confirmed_addresses: [] },
    ]);
    const rows = await dashboard.rows("SELECT before, after FROM audit_entry WHERE action = 'RemoveMember'");
    expect(rows).toEqual([
      { before: { addresses: ["Max@example.com", "ops@example.com"] }, after: { addresses: ["ops@example.com"] } },
    ]);
  });

  it("lists its changes in the audit trail, with their authors", async () => {
    const rows = await dashboard.accountRows<{ actor: string; action: string }>("TABLE audit_entry");
    const invited = rows.filter(({ action }) => action === "InviteMember");
    expect(invited.length).toBeGreaterThan(0);
    for (const { actor } of invited) expect(actor).toMatch(/^(olive|una)@example\.com \(mbr_\w{26}\)$/);
  });
});

describe("a member", () => {
  it("who owns a merchant creates another one and owns it; no other member can, and no one without a fresh proof", async () => {
    await dashboard.addMember("Vic", "DEVELOPER");
    const open = async (name: string) => signIns(await enter(name)).openMerchant({ name: "Tea House" });
    expect(await codeOf(open("Vic"))).toBe("role_not_allowed");
    const cookie = await enter("Olive");
    await pages.setBack("proved_at", "16 minutes", cookie);
    expect(await codeOf(signIns(cookie).openMerchant({ name: "Tea House" }))).toBe("fresh_sign_in_required");
    // Mails of invitations contain it.
    for (const [name, rule] of [
      ["Tea House\n\nYour account is locked.", "must be one line"],
      ["Sign in at tea.example", "must not contain a link"],
      ["Tea House \u202emoc.knab", "must be one line"],
      [" ", "must not be blank"],
    ] as const)
      await expect(signIns(await enter("Olive")).openMerchant({ name })).rejects.toThrow(`Correct name: it ${rule}`);
    const { merchant, keys } = await open("Olive");
    const { merchantId } = merchant!;
    expect(keys).toMatchObject([{ secretKey: expect.stringMatching(/_test_sk_/) }]);
    const { member } = await signIns(await enter("Olive")).getCurrentSignIn({});
    expect(member?.memberships).toContainEqual(
      expect.objectContaining({ merchantId, merchantName: "Tea House", role: Role.OWNER, liveRole: Role.OWNER }),
    );
    const owned = await dashboard.accountRows("SELECT after FROM audit_entry WHERE action = 'OpenMerchant'");
    expect(owned).toEqual([{ after: { name: "Tea House", owner: "olive@example.com" } }]);
    const shown = await pages.keys(await enter("Olive")).listApiKeys({ merchantId, environment: Environment.TEST });
    expect(shown.apiKeys.map(({ key }) => key)).toEqual(["", keys[0]!.publishableKey]);
  });
});
