import { Secret as OtpSecret, TOTP } from "otpauth";
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
  for (const [name, role] of [
    ["Olive", "OWNER"],
    ["Dora", "DEVELOPER"],
    ["Viv", "VIEWER"],
  ] as const) {
    await dashboard.addMember(name, role);
  }
});
afterAll(() => dashboard?.close());

const pages = new Pages(() => dashboard);
const signIns = (cookie?: string) => pages.signIns(cookie);
const members = (cookie?: string) => pages.members(cookie);
const enter = (name: string, more?: { password?: string; code?: string }) => pages.enter(name, more);
const setBack = (column: string, interval: string, cookie: string) => pages.setBack(column, interval, cookie);

describe("signing in", () => {
  it("gives a cookie for this host alone, out of reach of scripts and other sites", async () => {
    const cookies: (string | null)[] = [];
    await signIns().signIn(
      { email: " Olive@Example.com", password: memberPassword },
      { onHeader: (headers) => cookies.push(headers.get("set-cookie")) },
    );
    const cookie = cookies[0] ?? "";
    expect(cookie).toMatch(
      /^__Host-switchyard_sign_in=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=86400$/,
    );
    const { member } = await signIns(cookie.split(";")[0]).getCurrentSignIn({});
    expect(member).toMatchObject({
      email: "olive@example.com",
      name: "Olive",
      hasTotp: false,
      memberships: [{ merchantId: dashboard.merchantId, merchantName: "Corner Coffee", role: Role.OWNER }],
    });
  });

  it("keeps neither password nor token in clear", async () => {
    const cookie = await enter("Viv");
    const kept = JSON.stringify(
      await Promise.all(["member", "sign_in", "audit_entry"].map((table) => dashboard.accountRows(`TABLE ${table}`))),
    );
    expect(kept).not.toContain(memberPassword);
    expect(kept).not.toContain(cookie.split("=")[1]);
  });

  it("says the same of an unknown address as of a wrong password", async () => {
    const wrong = signIns().signIn({ email: "dora@example.com", password: "not the password" });
    const nobody = signIns().signIn({ email: "nobody@example.com", password: "not the password" });
    const messages = await Promise.all(
      [wrong, nobody].map((call) =>
        call.then(
          () => "",
          (error: Error) => error.message.replace(/req_\w+/, ""),
        ),
      ),
    );
    expect(messages[0]).toBe(messages[1]);
    expect(await codeOf(signIns().signIn({ email: "nobody@example.com", password: "x" }))).toBe("invalid_sign_in");
  });

  it("waits after a few failures, for the right password too, and forgets them when the member is in", async () => {
    await dashboard.addMember("Gus", "VIEWER");
    const attempt = (password: string) => signIns().signIn({ email: "gus@example.com", password });
    for (let failure = 0; failure < 4; failure++) expect(await codeOf(attempt("wrong"))).toBe("invalid_sign_in");
    await attempt(memberPassword);
    const codes = await Promise.all(Array.from({ length: 12 }, () => codeOf(attempt("wrong"))));
    expect(codes.filter((code) => code === "invalid_sign_in").length).toBe(5);
    expect(await codeOf(attempt(memberPassword))).toBe("rate_limited");
    await dashboard.accountRows("UPDATE sign_in_failures SET last_at = last_at - interval '15 minutes'");
    await attempt(memberPassword);
  });

  it("asks for a code once an app is confirmed, and takes each once", async () => {
    await dashboard.addMember("Tess", "VIEWER");
    const cookie = await enter("Tess");
    const { secret, uri } = await signIns(cookie).offerTotp({});
    expect(uri).toMatch(/^otpauth:\/\/totp\/switchyard:tess%40example\.com\?/);
    await enter("Tess");
    const app = new TOTP({ secret: OtpSecret.fromBase32(secret) });
    expect(await codeOf(signIns(cookie).confirmTotp({ code: "000000" }))).toBe("invalid_sign_in");
    const code = app.generate();
    await signIns(cookie).confirmTotp({ code });
    const claim = { email: "tess@example.com", password: memberPassword };
    expect(await signIns().signIn(claim)).toMatchObject({ codeNeeded: true });
    expect(await codeOf(signIns().signIn({ ...claim, code }))).toBe("invalid_sign_in");
    await enter("Tess", { code: app.generate({ timestamp: Date.now() + 30_000 }) });
    const kept = JSON.stringify(await dashboard.accountRows("TABLE member"));
    expect(kept).not.toContain(secret);
  });
});

describe("a sign-in", () => {
  it("ends by sign-out, by itself after a day, and when it was left alone", async () => {
    const cookies = [await enter("Viv"), await enter("Viv"), await enter("Viv")];
    await signIns(cookies[0]).signOut({});
    await setBack("expires_at", "24 hours", cookies[1]!);
    await setBack("last_seen_at", "3 hours", cookies[2]!);
    for (const cookie of cookies) expect(await codeOf(signIns(cookie).getCurrentSignIn({}))).toBe("sign_in_required");
  });

  it("is listed with its browser, and ended from another", async () => {
    await dashboard.addMember("Lou", "VIEWER");
    const [first, second] = [await enter("Lou"), await enter("Lou")];
    const listed = await signIns(second).listSignIns({});
    expect(listed.signIns.map(({ isCurrent, userAgent, address }) => [isCurrent, userAgent, address])).toEqual([
      [true, "Test Browser", "127.0.0.1"],
      [false, "Test Browser", "127.0.0.1"],
    ]);
    const { signInId } = listed.signIns[1]!;
    expect(await codeOf(signIns(await enter("Viv")).revokeSignIn({ signInId }))).toBe("not_found");
    await signIns(second).revokeSignIn({ signInId });
    expect(await codeOf(signIns(first).getCurrentSignIn({}))).toBe("sign_in_required");
  });

  it("is the only one left after a new password, which is held to its rule", async () => {
    await dashboard.addMember("Pam", "VIEWER");
    const [first, second] = [await enter("Pam"), await enter("Pam")];
    for (const newPassword of ["too short", "aaaaaaaaaaaaaaaa", "pam12345678a".slice(0, 11)]) {
      expect(await codeOf(signIns(second).changePassword({ newPassword }))).toBe("invalid_field");
    }
    expect(await signIns(second).changePassword({ newPassword: "another good horse" })).toMatchObject({
      endedSignIns: 1,
    });
    expect(await codeOf(signIns(first).getCurrentSignIn({}))).toBe("sign_in_required");
    await signIns(second).getCurrentSignIn({});
    await enter("Pam", { password: "another good horse" });
  });

  it("is fresh again once its member has proved who they are", async () => {
    const cookie = await enter("Olive");
    await setBack("proved_at", "15 minutes", cookie);
    expect(await codeOf(signIns(cookie).offerTotp({}))).toBe("fresh_sign_in_required");
    expect(await codeOf(signIns(cookie).proveSignIn({ password: "wrong" }))).toBe("invalid_sign_in");
    await signIns(cookie).proveSignIn({ password: memberPassword });
    await signIns(cookie).offerTotp({});
  });
});

describe("a team", () => {
  const scope = () => ({ merchantId: dashboard.merchantId });

  it("lets an invited address in once, with the role it was invited to", async () => {
    const owner = await enter("Olive");
    const { link } = await members(owner).inviteMember({ ...scope(), email: "New@Example.com", role: Role.DEVELOPER });
    const [, token] = link.split("https://dashboard.example.com/invitation#");
    expect(await signIns().getInvitation({ token: token! })).toMatchObject({
      email: "new@example.com",
      merchantName: "Corner Coffee",
      role: Role.DEVELOPER,
      hasMember: false,
    });
    const accept = () => signIns().acceptInvitation({ token: token!, name: "Newton", password: memberPassword });
    const answers = await Promise.allSettled([accept(), accept()]);
    expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await codeOf(accept())).toBe("not_found");
    const { member } = await signIns(await enter("New")).getCurrentSignIn({});
    expect(member?.memberships).toMatchObject([{ ...scope(), role: Role.DEVELOPER }]);
  });

  it("lets a member of another merchant in with their own password, and with no other", async () => {
    await dashboard.addMember("Otto");
    const { link } = await members(await enter("Olive")).inviteMember({
      ...scope(),
      email: "otto@example.com",
      role: Role.VIEWER,
    });
    const token = link.split("#")[1]!;
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
    for (const { link } of [revoked, old]) {
      expect(await codeOf(signIns().getInvitation({ token: link.split("#")[1]! }))).toBe("not_found");
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
    const back = await members(una).inviteMember({ ...scope(), email: "una.home@example.com", role: Role.OWNER });
    await members(olive).changeMemberRole({ ...scope(), memberId, role: Role.VIEWER });
    expect(await codeOf(signIns().getInvitation({ token: back.link.split("#")[1]! }))).toBe("not_found");
    await dashboard.addMember("Ivy");
    const low = await members(olive).inviteMember({ ...scope(), email: "ivy@example.com", role: Role.VIEWER });
    await dashboard.accountRows(
      "INSERT INTO membership (merchant_id, member_id, role) SELECT s.merchant_id, m.id, 'OWNER' FROM membership s, member m WHERE m.email = 'ivy@example.com' LIMIT 1",
    );
    const accept = signIns().acceptInvitation({ token: low.link.split("#")[1]!, password: memberPassword });
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
