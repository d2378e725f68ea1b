import { Secret as OtpSecret, TOTP } from "otpauth";
import { describe, expect, it, onTestFinished } from "vitest";
import { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { changePassword, findMemberByEmail } from "../accounts/members.ts";
import { hashPassword } from "../accounts/passwords.ts";
import { throttledAccount, throttledAddress, throttledBrowser, throttledProofs } from "../accounts/sign-in-throttle.ts";
import { endOtherSignIns } from "../accounts/sign-ins.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { memberPassword, startDashboardFixture } from "./dashboard.fixture.ts";

const dashboard = await forFile(() => startDashboardFixture({ members: true }));
for (const [name, role] of [
  ["Olive", "OWNER"],
  ["Dora", "DEVELOPER"],
  ["Viv", "VIEWER"],
] as const) {
  await dashboard.addMember(name, role);
}

const pages = new Pages(() => dashboard);
const signIns = (cookie?: string) => pages.signIns(cookie);
const enter = (name: string, more?: { password?: string; code?: string }) => pages.enter(name, more);
const setBack = (column: string, interval: string, cookie: string) => pages.setBack(column, interval, cookie);

describe("signing in", () => {
  it("sets a cookie for this host only, unreadable by scripts and not sent from other sites", async () => {
    const cookies: string[] = [];
    await signIns().signIn(
      { email: " Olive@Example.com", password: memberPassword },
      { onHeader: (headers) => cookies.push(...headers.getSetCookie().flatMap((each) => each.split(", "))) },
    );
    const [cookie = "", mark] = cookies;
    expect(cookies).toHaveLength(2);
    expect(mark).toMatch(
      /^__Host-switchyard_browser=[\w.-]+; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=7948800$/,
    );
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

  it("stores neither password nor token in clear", async () => {
    const cookie = await enter("Viv");
    const kept = JSON.stringify(
      await Promise.all(["member", "sign_in", "audit_entry"].map((table) => dashboard.accountRows(`TABLE ${table}`))),
    );
    expect(kept).not.toContain(memberPassword);
    expect(kept).not.toContain(cookie.split("=")[1]);
  });

  it("gives an unknown address and a wrong password the same answer", async () => {
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

  it("waits after a few failures, for the right password too, and resets when the member signs in", async () => {
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

  it("works while a member hashes as many passwords as they can", async () => {
    await dashboard.addMember("Hal", "VIEWER");
    const cookie = await enter("Hal");
    let isOver = false;
    onTestFinished(() => {
      isOver = true;
    });
    let changes = 0;
    const stream = async () => {
      while (!isOver) {
        const code = await signIns(cookie)
          .changePassword({ newPassword: "another good horse" })
          .then(
            () => "",
            (error: unknown) => codeOf(Promise.reject(error)),
          );
        if (code !== "rate_limited") changes++;
      }
    };
    const streams = Array.from({ length: 8 }, stream);
    while (changes === 0) await new Promise((resolve) => setImmediate(resolve));
    await enter("Dora");
    isOver = true;
    await Promise.all(streams);
  });

  it("ignores strangers' failures in a browser that the member has signed in by, until a new password", async () => {
    await dashboard.addMember("Bea", "VIEWER");
    const claim = { email: "bea@example.com", password: memberPassword };
    const guess = (cookie?: string) => codeOf(signIns(cookie).signIn({ ...claim, password: "a guess" }));
    const marks: string[] = [];
    const onHeader = (headers: Headers) =>
      marks.push(/__Host-switchyard_browser=[^;]+/.exec(headers.get("set-cookie") ?? "")![0]);
    await signIns().signIn(claim, { onHeader });
    for (let tries = 0; tries < 5; tries++) await guess();
    await pages.makeWait(throttledAccount(claim.email));
    await pages.makeWait(throttledAddress("127.0.0.1"));
    expect(await codeOf(signIns().signIn(claim))).toBe("rate_limited");
    expect(await codeOf(signIns(`${marks[0]}x`).signIn(claim))).toBe("rate_limited");
    await signIns(marks[0]).signIn(claim, { onHeader });
    // The browser has a count of its own, for its own member only.
    for (let tries = 0; tries < 5; tries++) expect(await guess(marks[0])).toBe("invalid_sign_in");
    await pages.makeWait(throttledBrowser(marks[0]!.split(".")[1]!));
    expect(await guess(marks[0])).toBe("rate_limited");
    expect(await codeOf(signIns(marks[1]).signIn({ ...claim, email: "dora@example.com" }))).toBe("rate_limited");
    await dashboard.accountRows("UPDATE member SET proof_version = proof_version + 1 WHERE email = $1", [claim.email]);
    expect(await codeOf(signIns(marks[1]).signIn(claim))).toBe("rate_limited");
    await dashboard.accountRows("DELETE FROM sign_in_failures");
  });

  it("requires a code once an app is confirmed, and accepts each once", async () => {
    await dashboard.addMember("Tess", "VIEWER");
    const cookie = await enter("Tess");
    const { secret, uri } = await signIns(cookie).offerTotp({});
    expect(uri).toMatch(/^otpauth:\/\/totp\/switchyard:tess%40example\.com\?/);
    const other = await enter("Tess");
    const app = new TOTP({ secret: OtpSecret.fromBase32(secret) });
    expect(await codeOf(signIns(cookie).confirmTotp({ code: "000000" }))).toBe("invalid_sign_in");
    const code = app.generate();
    await signIns(cookie).confirmTotp({ code });
    // That sign-in began without the app; the one that confirmed the app stays.
    expect(await codeOf(signIns(other).getCurrentSignIn({}))).toBe("sign_in_required");
    await signIns(cookie).getCurrentSignIn({});
    const claim = { email: "tess@example.com", password: memberPassword };
    expect(await signIns().signIn(claim)).toMatchObject({ codeNeeded: true });
    expect(await codeOf(signIns().signIn({ ...claim, code }))).toBe("invalid_sign_in");
    await enter("Tess", { code: app.generate({ timestamp: Date.now() + 30_000 }) });
    const kept = JSON.stringify(await dashboard.accountRows("TABLE member"));
    expect(kept).not.toContain(secret);
  });
});

describe("a sign-in", () => {
  it("ends by sign-out, after a day, and when idle", async () => {
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

  it("is the only one left after a new password, which must follow the password rule", async () => {
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

  it("is fresh again once its member has proved their identity", async () => {
    const cookie = await enter("Olive");
    await setBack("proved_at", "15 minutes", cookie);
    expect(await codeOf(signIns(cookie).offerTotp({}))).toBe("fresh_sign_in_required");
    expect(await codeOf(signIns(cookie).proveSignIn({ password: "wrong" }))).toBe("invalid_sign_in");
    const fresh = await pages.prove(cookie);
    await signIns(fresh).offerTotp({});
    expect(fresh).not.toBe(cookie);
    // Requests with the previous token in flight are answered, and are not fresh.
    await signIns(cookie).getCurrentSignIn({});
    expect(await codeOf(signIns(cookie).offerTotp({}))).toBe("fresh_sign_in_required");
    await setBack("token_replaced_at", "10 seconds", fresh);
    expect(await codeOf(signIns(cookie).getCurrentSignIn({}))).toBe("sign_in_required");
  });

  it("replaces the browser's earlier one", async () => {
    const earlier = await enter("Viv");
    const next = await pages.enter("Viv", {}, earlier);
    expect(await codeOf(signIns(earlier).getCurrentSignIn({}))).toBe("sign_in_required");
    await signIns(next).getCurrentSignIn({});
  });

  it("can be proved again while strangers guess the password, and waits only for its own failures", async () => {
    await dashboard.addMember("Ruth", "VIEWER");
    const [cookie, other] = [await enter("Ruth"), await enter("Ruth")];
    const guess = () => signIns().signIn({ email: "ruth@example.com", password: "a guess" });
    for (let tries = 0; tries < 5; tries++) await codeOf(guess());
    await pages.makeWait(throttledAccount("ruth@example.com"));
    expect(await codeOf(guess())).toBe("rate_limited");
    const fresh = await pages.prove(cookie);
    for (let tries = 0; tries < 5; tries++) await codeOf(signIns(fresh).proveSignIn({ password: "a guess" }));
    const { signInId } = await signIns(fresh).getCurrentSignIn({});
    await pages.makeWait(throttledProofs(decodeId("sgn", signInId)!));
    expect(await codeOf(signIns(fresh).proveSignIn({ password: memberPassword }))).toBe("rate_limited");
    await pages.prove(other);
  });

  it("cannot begin with a password that is changed concurrently", async () => {
    await dashboard.addMember("Ike", "VIEWER");
    const cookie = await enter("Ike");
    const change = dashboard.accounts.transaction(async (tx) => {
      const { id } = (await findMemberByEmail(tx, "ike@example.com"))!;
      await changePassword(tx, id, await hashPassword(new Secret("another good horse")));
      const late = enter("Ike").catch((error: unknown) => codeOf(Promise.reject(error)));
      // It has proved the old password, and waits for this change.
      await dashboard.waitForLock("INSERT INTO sign_in");
      await endOtherSignIns(tx, id);
      return { late };
    });
    expect(await (await change).late).toBe("invalid_sign_in");
    const open = await dashboard.accountRows(
      "SELECT 1 FROM sign_in s JOIN member m ON m.id = s.member_id WHERE m.email = 'ike@example.com' AND ended_at IS NULL",
    );
    expect(open).toEqual([]);
    expect(await codeOf(signIns(cookie).getCurrentSignIn({}))).toBe("sign_in_required");
  });
});
