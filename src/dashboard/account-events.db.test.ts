import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Secret as OtpSecret, TOTP } from "otpauth";
import { describe, expect, it } from "vitest";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { throttledAccount } from "../accounts/sign-in-throttle.ts";
import { sweepSignInsOnce } from "../accounts/sweep-sign-ins.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { sha256 } from "../platform/secrets.ts";
import { memberPassword, startDashboardFixture } from "./dashboard.fixture.ts";

const dashboard = await forFile(() => startDashboardFixture({ members: true }));
const operator = await dashboard.hireOperator("ada");
await dashboard.addMember("Olive", "OWNER");

const pages = new Pages(() => dashboard);
const signIns = (cookie?: string) => pages.signIns(cookie);
const actionsOf = async (cookie: string) =>
  (await signIns(cookie).listAccountEvents({})).entries.map(({ action }) => action);
const guess = (name: string) => signIns().signIn({ email: `${name}@example.com`, password: "a guess" });

type Row = { action: string; subject: string; merchantId: string | null; after: { failures: number } | null };
const rowsAbout = (memberId: string) =>
  dashboard.accountRows<Row>(
    `SELECT action, subject, merchant_id AS "merchantId", after FROM audit_entry WHERE subject = $1 ORDER BY id`,
    [memberId],
  );

describe("account events", () => {
  it("are shown to the member and to the owners of their merchants only", async () => {
    const { memberId } = await dashboard.addMember("Vera", "VIEWER");
    await dashboard.addMember("Sam");
    const cookie = await pages.enter("Vera");
    const fresh = await pages.prove(cookie);
    const { secret } = await signIns(fresh).offerTotp({});
    await signIns(fresh).confirmTotp({ code: new TOTP({ secret: OtpSecret.fromBase32(secret) }).generate() });
    await signIns(fresh).removeTotp({});
    const other = await pages.enter("Vera");
    const { signIns: listed } = await signIns(other).listSignIns({});
    await signIns(fresh).revokeSignIn({ signInId: listed.find(({ isCurrent }) => isCurrent)!.signInId });
    await signIns(fresh).changePassword({ newPassword: "another good horse" });
    await signIns(fresh).signOut({});
    const expected = ["SignOut", "ChangePassword", "RevokeSignIn", "SignIn", "RemoveTotp", "ConfirmTotp", "OfferTotp"];
    expected.push("ProveSignIn", "SignIn");
    const again = await pages.enter("Vera", { password: "another good horse" });
    expect(await actionsOf(again)).toEqual(["SignIn", ...expected]);
    const scope = { merchantId: dashboard.merchantId, environment: Environment.TEST };
    const owned = await pages.audit(await pages.enter("Olive")).listAuditEntries({ ...scope, pageSize: 100 });
    const about = owned.entries.filter(({ subject }) => subject === memberId);
    expect(about.map(({ action }) => action)).toEqual(["SignIn", ...expected]);
    expect(about[0]?.actor).toBe(`vera@example.com (${memberId})`);
    expect(await actionsOf(await pages.enter("Sam"))).toEqual(["SignIn"]);
  });

  it("are paged from both environments' audit trails, each entry once", async () => {
    const audit = pages.audit(await pages.enter("Olive"));
    const scope = { merchantId: dashboard.merchantId, environment: Environment.TEST };
    const whole = await audit.listAuditEntries({ ...scope, pageSize: 100 });
    const first = await audit.listAuditEntries({ ...scope, pageSize: 3 });
    const older = { ...scope, pageSize: 100, pageToken: first.nextPageToken };
    const second = await audit.listAuditEntries(older);
    expect([whole.nextPageToken, second.nextPageToken]).toEqual(["", ""]);
    const idsOf = (...answers: (typeof whole)[]) =>
      answers.flatMap(({ entries }) => entries.map(({ auditEntryId }) => auditEntryId));
    expect(idsOf(first, second)).toEqual(idsOf(whole));
    const forged = audit.listAuditEntries({ ...older, pageToken: `x${first.nextPageToken}` });
    expect(await codeOf(forged)).toBe("invalid_parameter");
  });

  it("stand in the audit trail without what operators read, unless that is requested, and can be filtered", async () => {
    const audit = pages.audit(await pages.enter("Olive"));
    const scope = { merchantId: dashboard.merchantId, environment: Environment.TEST };
    await pages.members(undefined, operator).listMembers({ merchantId: dashboard.merchantId });
    const { memberId } = await dashboard.addMember("Una", "VIEWER");
    await pages.enter("Una");
    const list = async (filter: Parameters<typeof audit.listAuditEntries>[0]) => {
      const { entries } = await audit.listAuditEntries({ ...scope, pageSize: 100, ...filter });
      return entries.map(({ action, subject }) => `${action} ${subject}`);
    };
    const signIn = `SignIn ${memberId}`;
    const read = `ListMembers ${dashboard.merchantId}`;
    expect(await list({})).toContain(signIn);
    expect(await list({})).not.toContain(read);
    expect(await list({ includeReads: true })).toEqual(expect.arrayContaining([signIn, read]));
    expect(await list({ includeReads: true, actor: "ADA" })).toEqual([read]);
    expect(await list({ actor: "una@" })).toEqual([signIn]);
    expect(await list({ subject: memberId })).toEqual([signIn]);
    expect(new Set((await list({ action: "SignIn" })).map((entry) => entry.split(" ")[0]))).toEqual(
      new Set(["SignIn"]),
    );
    const aDay = timestampFromDate(new Date(Date.now() + 86_400_000));
    expect([await list({ createdAfter: aDay }), await list({ createdBefore: aDay })]).toEqual([[], await list({})]);
    const { actions } = await audit.listAuditEntries(scope);
    expect(actions).toContain("SetRoutingRule");
    expect(actions).not.toContain("ListMembers");
  });

  it("record the first failed sign-in and each that caused a wait, and none of an unknown address", async () => {
    const { memberId } = await dashboard.addMember("Gus", "VIEWER");
    for (let tries = 0; tries < 5; tries++) {
      await codeOf(guess("gus"));
      await codeOf(guess("nobody"));
    }
    await dashboard.accountRows("UPDATE sign_in_failures SET last_at = last_at - interval '15 minutes'");
    expect(await codeOf(guess("gus"))).toBe("invalid_sign_in");
    await pages.makeWait(throttledAccount("gus@example.com"));
    expect(await codeOf(guess("gus"))).toBe("rate_limited");
    const rows = (await rowsAbout(memberId)).filter(({ merchantId }) => merchantId === null);
    expect(rows.map(({ action, after }) => [action, after?.failures])).toEqual([
      ["SignInRefused", 1],
      ["SignInRefused", 5],
      ["SignInRefused", 6],
    ]);
    const unknown = await dashboard.accountRows<Row>("SELECT * FROM audit_entry WHERE actor LIKE '%nobody@%'");
    expect(unknown).toEqual([]);
  });

  it("are not listed as events of the installation", async () => {
    const rows = await dashboard.accountRows<Row>("SELECT * FROM audit_entry WHERE subject = 'installation'");
    expect(rows).toEqual([]);
  });
});

describe("counted failures", () => {
  it("are stored under a keyed hash", async () => {
    await codeOf(guess("hal"));
    const known = ["account hal@example.com", "address 127.0.0.1"].map((text) => sha256(text));
    expect(await dashboard.accountRows("SELECT 1 FROM sign_in_failures WHERE subject = ANY ($1)", [known])).toEqual([]);
    expect(await dashboard.accountRows("SELECT 1 FROM sign_in_failures")).not.toEqual([]);
  });

  it("are removed a day after the last one", async () => {
    await codeOf(guess("ida"));
    await codeOf(guess("joe"));
    const count = async () => (await dashboard.accountRows("SELECT 1 FROM sign_in_failures")).length;
    const before = await count();
    await dashboard.accountRows(
      "UPDATE sign_in_failures SET last_at = last_at - interval '1 day' WHERE subject = (SELECT min(subject) FROM sign_in_failures)",
    );
    expect(await sweepSignInsOnce(dashboard.accounts)).toBe(false);
    expect(await count()).toBe(before - 1);
  });
});

describe("an operator", () => {
  it("issues a link for a new password that works once, ends every sign-in and bypasses the wait", async () => {
    const cookie = await pages.join("Finn", "VIEWER");
    for (let tries = 0; tries < 5; tries++) await codeOf(guess("finn"));
    await pages.makeWait(throttledAccount("finn@example.com"));
    const make = () => pages.members(undefined, operator).resetMemberPassword({ email: "Finn@example.com" });
    const [replaced, made] = [await make(), await make()];
    const tokenOf = ({ link }: { link: string }) => link.split("https://dashboard.example.com/new-password#")[1]!;
    expect(await codeOf(signIns().getPasswordReset({ token: tokenOf(replaced) }))).toBe("not_found");
    const token = tokenOf(made);
    expect((await signIns().getPasswordReset({ token })).email).toBe("finn@example.com");
    await signIns(cookie).getCurrentSignIn({});
    expect(await codeOf(signIns().resetPassword({ token, newPassword: "short" }))).toBe("invalid_field");
    const newPassword = "another good horse";
    const used = await Promise.allSettled([1, 2].map(() => signIns().resetPassword({ token, newPassword })));
    expect(used.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await codeOf(signIns(cookie).getCurrentSignIn({}))).toBe("sign_in_required");
    const again = await pages.enter("Finn", { password: newPassword });
    expect((await actionsOf(again)).slice(0, 4)).toEqual([
      "SignIn",
      "ResetPassword",
      "ResetMemberPassword",
      "ResetMemberPassword",
    ]);
    const late = tokenOf(await make());
    await dashboard.accountRows("UPDATE password_reset SET expires_at = created_at");
    expect(await codeOf(signIns().resetPassword({ token: late, newPassword }))).toBe("not_found");
    expect(JSON.stringify(await dashboard.accountRows("TABLE audit_entry"))).not.toContain(token);
  });

  it("removes a lost authenticator app and ends the sign-ins", async () => {
    const cookie = await pages.join("Tess", "VIEWER");
    const { secret } = await signIns(cookie).offerTotp({});
    await signIns(cookie).confirmTotp({ code: new TOTP({ secret: OtpSecret.fromBase32(secret) }).generate() });
    const request = { email: "tess@example.com" };
    expect(await signIns().signIn({ ...request, password: memberPassword })).toMatchObject({ codeNeeded: true });
    const removed = await pages.members(undefined, operator).removeSecondFactors(request);
    expect(removed).toMatchObject({ hadTotp: true, endedSignIns: 1 });
    expect(await codeOf(signIns(cookie).getCurrentSignIn({}))).toBe("sign_in_required");
    await pages.enter("Tess");
    const owner = pages.members(await pages.enter("Olive"));
    expect(await codeOf(owner.removeSecondFactors(request))).toBe("role_not_allowed");
    const { members } = await owner.listMembers({ merchantId: dashboard.merchantId });
    expect(members.find(({ email }) => email === request.email)).toMatchObject({ role: Role.VIEWER, hasTotp: false });
  });
});
