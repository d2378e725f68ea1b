/** Sign-in by a company's identity provider: whom it finds, links and makes a member, and what ends it. */
import { describe, expect, it } from "vitest";
import { Environment } from "../../../gen/dashboard/v1/environment_pb.ts";
import { Role } from "../../../gen/dashboard/v1/role_pb.ts";
import type { IdentityProvider } from "../../accounts/identity-providers-file.ts";
import { createMerchant } from "../../accounts/merchants.ts";
import { Authenticator } from "../../dev/testing/dashboard/authenticator.ts";
import { type Begun, CompanyBrowser, flowName, pairOf, targetOf } from "../../dev/testing/dashboard/company-browser.ts";
import { CompanyProvider } from "../../dev/testing/dashboard/company-provider.ts";
import { codeOf, Pages } from "../../dev/testing/dashboard/pages.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { decodeId, encodeId } from "../../platform/ids.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret } from "../../platform/secrets.ts";
import { memberPassword, startDashboardFixture } from "../dashboard.fixture.ts";
import { serveForFile } from "../dashboard-server.fixture.ts";

const origin = "https://dashboard.example.com";
const company = await forFile(() => CompanyProvider.start(origin, "corp"));
const entry: IdentityProvider = {
  ...{ id: "corp", name: "Example Corp", issuer: company.issuer, clientId: company.clientId },
  ...{ clientSecret: new Secret(company.clientSecret), privateKey: undefined, domains: ["corp.example"] },
  ...{ merchants: "*", isExclusive: false, secondFactor: undefined, roles: undefined },
};
const identityProviders: IdentityProvider[] = [];
const dashboard = await forFile(() =>
  startDashboardFixture({ members: true, live: "besideTest", secondFactor: true, identityProviders }),
);
const port = await serveForFile(dashboard, origin);
const pages = new Pages(() => dashboard);
const merchantUuid = decodeId("mer", dashboard.merchantId)!;
const other = { id: systemRuntime.uuid(), name: "Tea House" };
await createMerchant(dashboard.accounts, other);
const otherId = encodeId("mer", other.id);

/** Sets the file's only provider. */
function provide(changes: Partial<IdentityProvider> = {}) {
  identityProviders.splice(0, identityProviders.length, { ...entry, ...changes });
}
const asDeveloper = {
  ...{ claim: "groups", value: "payments", merchants: [merchantUuid] },
  ...({ role: "DEVELOPER", liveRole: "VIEWER" } as const),
};

const { begin, beginSignIn, arriveAt, send } = new CompanyBrowser(pages, port);
company.deliver = async (url, body) => (await send(new URL(url).pathname, { form: body })).status;

/** Returns from the provider's page with the browser's cookie. */
async function arrive(begun: Begun, account: string, at?: Map<string, string>) {
  return arriveAt(await company.signIn(begun.authorizationUrl, account, at), begun);
}
const signIn = async (account: string, more: object = {}, at?: Map<string, string>) =>
  arrive(await beginSignIn(more), account, at);
const refused = (reason: string) => `/company-sign-in?refused=${reason}`;

let number = 0;
/** A new account at the provider. */
function hire(claims: object = {}, name = `p${++number}`) {
  const email = `${name}@corp.example`;
  company.accounts.set(name, { email, email_verified: true, name: `Person ${name}`, groups: ["payments"], ...claims });
  return { account: name, email };
}

/** Adds a member with a linked account. */
async function linked(role: "OWNER" | "VIEWER" = "VIEWER") {
  const { account } = hire();
  const name = `Lin${account}`;
  const { memberId } = await dashboard.addMember(name, role);
  const cookie = await pages.enter(name);
  const answer = await arrive(await beginLink(cookie), account);
  expect(answer.target).toBe("/account");
  return { account, name, memberId, cookie, email: `${name.toLowerCase()}@example.com` };
}
const beginLink = (cookie: string) =>
  begin((onHeader) => pages.signIns(cookie).beginCompanyLink({ providerId: "corp" }, { onHeader }));

describe("O1: an account at a provider", () => {
  it("is found by issuer and subject, and never by its e-mail address", async () => {
    provide();
    const { memberId } = await dashboard.addMember("Ada", "OWNER");
    const { account } = hire({ email: "ada@example.com" });
    expect((await signIn(account)).target).toBe(refused("unknown_account"));
    provide({ domains: ["example.com"], roles: [asDeveloper] });
    expect((await signIn(account)).target).toBe(refused("address_taken"));
    const cookie = await pages.enter("Ada");
    provide();
    expect((await arrive(await beginLink(cookie), account)).target).toBe("/account");
    const entered = await signIn(account, { next: "/test/payments?x=1" });
    expect(entered.target).toBe("/test/payments?x=1");
    const current = await pages.signIns(entered.cookie).getCurrentSignIn({});
    expect(current).toMatchObject({ member: { memberId }, providerId: "corp", providerName: "Example Corp" });
    // Another account with the same address is another person.
    const { account: namesake } = hire({ email: "ada@example.com" });
    expect((await signIn(namesake)).target).toBe(refused("unknown_account"));
  });

  it("is linked only with a fresh sign-in that has not ended, to one member, and one for each issuer", async () => {
    provide();
    await dashboard.addMember("Bo", "VIEWER");
    await dashboard.addMember("Cy", "VIEWER");
    const [bo, cy] = [await pages.enter("Bo"), await pages.enter("Cy")];
    const [one, two] = [hire().account, hire().account];
    const begun = await beginLink(bo);
    await pages.signIns(bo).signOut({});
    expect((await arrive(begun, one)).target).toBe(refused("signed_out"));
    const again = await pages.enter("Bo");
    expect((await arrive(await beginLink(again), one)).target).toBe("/account");
    expect((await arrive(await beginLink(cy), one)).target).toBe(refused("linked_elsewhere"));
    expect((await arrive(await beginLink(again), two)).target).toBe(refused("linked_elsewhere"));
    await pages.setBack("proved_at", "15 minutes", cy);
    expect(await codeOf(beginLink(cy))).toBe("fresh_sign_in_required");
  });

  it("is unlinked with the end of its sign-ins, unless it is the only way in", async () => {
    provide({ roles: [asDeveloper] });
    const { account, cookie } = await linked();
    const entered = await signIn(account);
    await pages.signIns(cookie).removeIdentity({ issuer: company.issuer });
    expect(await codeOf(pages.signIns(entered.cookie).getCurrentSignIn({}))).toBe("sign_in_required");
    expect((await pages.signIns(cookie).listIdentities({})).identities).toEqual([]);
    const made = await signIn(hire().account);
    const fresh = await proved(made.cookie!);
    expect(await codeOf(pages.signIns(fresh).removeIdentity({ issuer: company.issuer }))).toBe("state_conflict");
  });

  it("accepts an invitation for its verified address in a domain of the provider, and no other", async () => {
    provide();
    await dashboard.addMember("Olive", "OWNER");
    await dashboard.accountRows("UPDATE sign_in SET second_factor = NULL");
    const invite = async (email: string) => {
      const operator = await dashboard.hireOperator("inviter");
      const wanted = { merchantId: dashboard.merchantId, email, role: Role.SUPPORT, liveRole: Role.NONE };
      const { link } = await pages.members(undefined, operator).makeInvitationLink(wanted);
      await dashboard.dismissOperator("inviter");
      return { invitationToken: link.split("#")[1]! };
    };
    const invited = hire();
    const token = await invite(invited.email);
    expect((await pages.signIns().listIdentityProviders(token)).providers).toMatchObject([{ providerId: "corp" }]);
    expect((await signIn(hire().account, token)).target).toBe(refused("other_address"));
    company.accounts.set("lie", { email: invited.email, email_verified: false });
    expect((await signIn("lie", token)).target).toBe(refused("other_address"));
    company.accounts.set("quiet", { email: invited.email });
    expect((await signIn("quiet", token)).target).toBe(refused("other_address"));
    const foreign = hire({ email: "someone@elsewhere.example" });
    const abroad = await invite("someone@elsewhere.example");
    expect((await signIn(foreign.account, abroad)).target).toBe(refused("other_address"));
    expect((await pages.signIns().listIdentityProviders(abroad)).providers).toEqual([]);
    const joined = await signIn(invited.account, token);
    const current = await pages.signIns(joined.cookie).getCurrentSignIn({});
    expect(current.member).toMatchObject({
      email: invited.email,
      memberships: [{ role: Role.SUPPORT, liveRole: Role.NONE }],
    });
    expect((await signIn(invited.account, token)).target).toBe(refused("invitation_gone"));
    // An address that has a member is no way to them.
    await dashboard.accountRows(
      "INSERT INTO member (id, email, name) VALUES (gen_random_uuid(), 'kim@corp.example', 'Kim')",
    );
    const kim = await invite("kim@corp.example");
    expect((await signIn(hire({}, "kim").account, kim)).target).toBe(refused("address_taken"));
  });
});

/** Proves a sign-in again at the provider, and returns its new cookie. */
async function proved(cookie: string, account = `p${number}`) {
  const begun = await begin((onHeader) => pages.signIns(cookie).beginCompanyProof({ next: "/account" }, { onHeader }));
  return (await arrive(begun, account)).cookie!;
}

describe("O2: a rule about roles", () => {
  it("makes a member only for a verified address of a domain, and without a password", async () => {
    provide({ roles: [asDeveloper] });
    for (const claims of [
      { email_verified: false },
      { email_verified: "true" },
      { email: "x@elsewhere.example" },
      { groups: [] },
    ])
      expect((await signIn(hire(claims).account)).target, JSON.stringify(claims)).toBe(refused("unknown_account"));
    const { account, email } = hire();
    const { cookie } = await signIn(account);
    expect((await pages.signIns(cookie).getCurrentSignIn({})).member).toMatchObject({
      email,
      name: `Person ${account}`,
      memberships: [{ merchantId: dashboard.merchantId, role: Role.DEVELOPER, liveRole: Role.VIEWER }],
    });
    expect(await dashboard.accountRows("SELECT password_hash FROM member WHERE email = $1", [email])).toEqual([
      { password_hash: null },
    ]);
    for (const password of [memberPassword, "null", ""])
      await expect(pages.signIns().signIn({ email, password: password || " " })).rejects.toThrow("is not right");
  });
});

describe("O3: a provider", () => {
  it("signs in at its merchants only, and cannot change how the member signs in", async () => {
    provide();
    const { account, name, memberId } = await linked("OWNER");
    const rows = "INSERT INTO membership (merchant_id, member_id, role, live_role) VALUES ($1, $2, 'OWNER', 'OWNER')";
    await dashboard.accountRows(rows, [other.id, decodeId("mbr", memberId)]);
    provide({ merchants: [other.id] });
    const { cookie } = await signIn(account);
    const { member } = await pages.signIns(cookie).getCurrentSignIn({});
    expect(member!.memberships).toMatchObject([{ merchantId: otherId }]);
    const listed = (merchantId: string) =>
      pages.payments(cookie).listPayments({ merchantId, environment: Environment.TEST });
    await listed(otherId);
    expect(await codeOf(listed(dashboard.merchantId))).toBe("not_found");
    const fresh = await proved(cookie!, account);
    expect(await codeOf(pages.passkeys(fresh).offerPasskey({}))).toBe("role_not_allowed");
    expect(await codeOf(pages.signIns(fresh).changePassword({ newPassword: "another good horse" }))).toBe(
      "role_not_allowed",
    );
    expect(await codeOf(pages.signIns(fresh).openMerchant({ name: "Mine" }))).toBe("role_not_allowed");
    // By password the member has both.
    expect((await pages.signIns(await pages.enter(name)).getCurrentSignIn({})).member!.memberships).toHaveLength(2);
  });

  it("rewrites its own memberships at each sign-in, and no other", async () => {
    const rules = [
      asDeveloper,
      { ...asDeveloper, value: "money", role: "SUPPORT", liveRole: "SUPPORT" } as const,
      { ...asDeveloper, value: "tea", merchants: [other.id], role: "OWNER", liveRole: "OWNER" } as const,
    ];
    provide({ roles: rules });
    const { account } = hire({ groups: ["money", "payments", "tea"] });
    const rolesNow = async () => {
      const { cookie } = await signIn(account);
      const { member } = await pages.signIns(cookie).getCurrentSignIn({});
      return Object.fromEntries(
        member!.memberships.map(({ merchantId, role, liveRole }) => [merchantId, [role, liveRole]]),
      );
    };
    expect(await rolesNow()).toEqual({
      [dashboard.merchantId]: [Role.DEVELOPER, Role.SUPPORT],
      [otherId]: [Role.OWNER, Role.OWNER],
    });
    const claims = company.accounts.get(account)!;
    company.accounts.set(account, { ...claims, groups: ["money"] });
    expect(await rolesNow()).toEqual({ [dashboard.merchantId]: [Role.SUPPORT, Role.SUPPORT] });
    // An owner by invitation stays, whatever the provider says.
    const owner = await linked("OWNER");
    company.accounts.set(owner.account, { groups: ["money"] });
    const { cookie } = await signIn(owner.account);
    const { member } = await pages.signIns(cookie).getCurrentSignIn({});
    expect(member!.memberships).toMatchObject([{ role: Role.OWNER, liveRole: Role.OWNER }]);
    // And nobody of the dashboard writes the provider's.
    const operator = await dashboard.hireOperator("ruth");
    const team = pages.members(undefined, operator);
    const { merchantId } = dashboard;
    const { members } = await team.listMembers({ merchantId });
    const { memberId, rolesFrom } = members.find(({ email }) => email === `${account}@corp.example`)!;
    expect(rolesFrom).toBe("corp");
    const change = team.changeMemberRole({ merchantId, memberId, role: Role.VIEWER, liveRole: Role.VIEWER });
    expect(await codeOf(change)).toBe("state_conflict");
    const trail = await dashboard.accountRows(
      "SELECT before, after FROM audit_entry WHERE action = 'SetRolesByCompany' AND subject = $1 ORDER BY id",
      [memberId],
    );
    expect(trail).toHaveLength(4);
  });
});

describe("O4: an exclusive provider", () => {
  it("ends password and passkey for the addresses of its domains, except for break-glass owners, of whom owners hear", async () => {
    provide({ domains: ["example.com"] });
    await dashboard.addMember("Gwen", "OWNER");
    await dashboard.addMember("Glen", "VIEWER");
    const operator = await dashboard.hireOperator("boss");
    const members = pages.members(undefined, operator);
    const { link } = await members.resetMemberPassword({ email: "glen@example.com" });
    const wanted = { merchantId: dashboard.merchantId, role: Role.VIEWER, liveRole: Role.VIEWER };
    const invitation = await members.makeInvitationLink({ ...wanted, email: "gil@example.com" });
    provide({ domains: ["example.com"], isExclusive: true });
    const attempt = (name: string) =>
      pages.signIns().signIn({ email: `${name}@example.com`, password: memberPassword });
    await expect(attempt("gwen")).rejects.toThrow('Use "Continue with Example Corp"');
    await expect(pages.signIns().signIn({ email: "gwen@example.com", password: "wrong" })).rejects.toThrow(
      "is not right",
    );
    const reset = pages.signIns().resetPassword({ token: link.split("#")[1]!, newPassword: "another good horse" });
    await expect(reset).rejects.toThrow("Example Corp");
    const token = invitation.link.split("#")[1]!;
    const accepted = pages.signIns().acceptInvitation({ token, name: "Gil", password: "another good horse" });
    await expect(accepted).rejects.toThrow("Example Corp");
    expect(await codeOf(members.setBreakGlass({ email: "glen@example.com", isBreakGlass: true }))).toBe(
      "state_conflict",
    );
    await members.setBreakGlass({ email: "gwen@example.com", isBreakGlass: true });
    const before = dashboard.mailbox.mails.length;
    await attempt("gwen");
    const mails = dashboard.mailbox.mails.slice(before);
    const owners = await dashboard.accountRows<{ email: string }>(
      "SELECT m.email FROM member m JOIN membership s ON s.member_id = m.id WHERE s.role = 'OWNER' AND s.merchant_id = $1",
      [merchantUuid],
    );
    expect(mails.flatMap(({ to }) => to).sort()).toEqual(owners.map(({ email }) => email).sort());
    expect(mails[0]!.text).toContain("gwen@example.com has signed in");
    const cookie = await pages.enter("Gwen");
    const device = new Authenticator(origin);
    const { options } = await pages.passkeys(cookie).offerPasskey({});
    await pages.passkeys(cookie).addPasskey({ credential: device.create(options), name: "Phone" });
    const byPasskey = async () => {
      const asked = await pages.passkeys().beginPasskeySignIn({});
      return pages.passkeys().signInWithPasskey({ credential: device.get(asked.options) });
    };
    const mailed = dashboard.mailbox.mails.length;
    await byPasskey();
    expect(dashboard.mailbox.mails.length).toBe(mailed + owners.length);
    await members.setBreakGlass({ email: "gwen@example.com", isBreakGlass: false });
    await expect(byPasskey()).rejects.toThrow("Example Corp");
    await expect(attempt("gwen")).rejects.toThrow("Example Corp");
  });
});

describe("O5: a flow", () => {
  it("is in a sealed cookie for this host, which the callback removes whatever comes of it", async () => {
    provide();
    const { account } = await linked();
    let line = "";
    const onHeader = (headers: Headers) => {
      line = headers.get("set-cookie") ?? "";
    };
    const { authorizationUrl } = await pages.signIns().beginCompanySignIn({ providerId: "corp" }, { onHeader });
    expect(line).toMatch(/^__Host-switchyard_company=[\w.-]+; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$/);
    const { state, nonce, code_challenge_method: method } = Object.fromEntries(new URL(authorizationUrl).searchParams);
    expect([line.includes(state!), line.includes(nonce!), method]).toEqual([false, false, "S256"]);
    const gone = `${flowName}=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0`;
    const back = await company.signIn(authorizationUrl, account);
    const path = back.pathname + back.search;
    for (const cookie of [
      "",
      `${flowName}=changed`,
      `${pairOf(line).slice(0, -4)}AAAA`,
      `${pairOf(line)}; ${pairOf(line)}`,
    ]) {
      const answer = await send(path, { cookie });
      expect([answer.cookies, targetOf(answer)]).toEqual([[gone], refused("expired")]);
    }
    const answer = await send(path, { cookie: pairOf(line) });
    expect(answer.cookies[0]).toBe(gone);
    expect(answer.cookies[1]).toMatch(/^__Host-switchyard_sign_in=.*SameSite=Strict/);
    // A page, and no redirect: the Strict cookie is not sent after one that another site began.
    expect([answer.status, targetOf(answer)]).toEqual([200, "/"]);
    const again = await send(path, { cookie: pairOf(line) });
    expect([again.cookies, targetOf(again)]).toEqual([[gone], refused("refused")]);
  });

  it("has the state of its own browser, and ends after ten minutes", async () => {
    provide();
    const { account } = await linked();
    const [mine, theirs] = [await beginSignIn(), await beginSignIn()];
    expect((await arrive({ ...mine, flow: theirs.flow }, account)).target).toBe(refused("refused"));
    const now = systemRuntime.now().getTime();
    const real = dashboard.parts.runtime.now;
    const begun = await beginSignIn();
    Object.assign(dashboard.parts.runtime, { now: () => new Date(now + 10 * 60_000 + 1_000) });
    const late = await arrive(begun, account).finally(() => Object.assign(dashboard.parts.runtime, { now: real }));
    expect(late.target).toBe(refused("expired"));
  });

  it("leads to no other site afterwards", async () => {
    provide();
    const { account } = await linked();
    for (const next of ["//evil.example/x", "https://evil.example/", "/\\evil.example", 'javascript:"x"'])
      expect((await signIn(account, { next })).target, next).toBe("/");
    const { body } = await signIn(account, { next: '/x"><script>' });
    expect(body).not.toContain("<script>");
  });

  it("ends the sign-in that the browser had", async () => {
    provide();
    const { account, cookie } = await linked();
    const { cookie: later } = await arrive(await beginSignIn({}, cookie), account);
    expect(await codeOf(pages.signIns(cookie).getCurrentSignIn({}))).toBe("sign_in_required");
    await pages.signIns(later).getCurrentSignIn({});
  });
});

describe("O6: a sign-in by a provider", () => {
  it("is fresh only once its member has signed in there again within the last minute", async () => {
    provide();
    const { account } = await linked("OWNER");
    const { cookie } = await signIn(account);
    const isFresh = async (at: string) => (await pages.signIns(at).getCurrentSignIn({})).isFresh;
    expect(await isFresh(cookie!)).toBe(false);
    expect(await codeOf(pages.passkeys(cookie).offerPasskey({}))).toBe("fresh_sign_in_required");
    const begun = await begin((onHeader) => pages.signIns(cookie).beginCompanyProof({}, { onHeader }));
    const { prompt, max_age: maxAge } = Object.fromEntries(new URL(begun.authorizationUrl).searchParams);
    expect([prompt, maxAge]).toEqual(["login", "0"]);
    const after = await arrive(begun, account);
    expect(await isFresh(after.cookie!)).toBe(true);
    await pages.passkeys(after.cookie).offerPasskey({});
    const another = await linked();
    const wrong = await begin((onHeader) => pages.signIns(after.cookie).beginCompanyProof({}, { onHeader }));
    expect((await arrive(wrong, another.account)).target).toBe(refused("other_account"));
  });

  it("is not fresh with an old proof, or without its time", async () => {
    provide();
    const { account } = await linked();
    const { cookie } = await signIn(account);
    const begun = await begin((onHeader) => pages.signIns(cookie).beginCompanyProof({}, { onHeader }));
    const real = dashboard.parts.runtime.now;
    const late = new Date(Date.now() + 62_000);
    Object.assign(dashboard.parts.runtime, { now: () => late });
    const answer = await arrive(begun, account).finally(() => Object.assign(dashboard.parts.runtime, { now: real }));
    expect(answer.target).toBe(refused("not_fresh"));
    const silent = await begin((onHeader) => pages.signIns(cookie).beginCompanyProof({}, { onHeader }));
    // Without max_age the provider sends no time.
    const url = new URL(silent.authorizationUrl);
    for (const name of ["prompt", "max_age"]) url.searchParams.delete(name);
    expect((await arrive({ ...silent, authorizationUrl: url.href }, account)).target).toBe(refused("not_fresh"));
  });

  it("has a second factor only if the provider proves one", async () => {
    provide();
    const { account } = await linked("OWNER");
    const open = async () => {
      const { cookie } = await signIn(account);
      const listed = pages
        .keys(cookie)
        .listApiKeys({ merchantId: dashboard.merchantId, environment: Environment.LIVE });
      return listed.then(
        () => "open",
        () => codeOf(listed),
      );
    };
    expect(await open()).toBe("second_factor_required");
    provide({ secondFactor: { claim: "amr", values: ["mfa"] } });
    expect(await open()).toBe("second_factor_required");
    company.accounts.set(account, { amr: ["pwd"] });
    expect(await open()).toBe("second_factor_required");
    company.accounts.set(account, { amr: ["pwd", "mfa"] });
    expect(await open()).toBe("open");
    provide({ secondFactor: "always" });
    company.accounts.set(account, {});
    expect(await open()).toBe("open");
  });
});

describe("O7: a sign-in by a provider", () => {
  const isOpen = (cookie: string | undefined) =>
    pages
      .signIns(cookie)
      .getCurrentSignIn({})
      .then(
        () => true,
        () => false,
      );

  it("ends after twelve hours", async () => {
    provide();
    const { account } = await linked();
    const { cookie } = await signIn(account);
    const { expiresAt } = await pages.signIns(cookie).getCurrentSignIn({});
    const hours = (Number(expiresAt!.seconds) * 1_000 - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(11.9);
    expect(hours).toBeLessThanOrEqual(12.01);
  });

  it("ends when the provider leaves the file, or has another issuer", async () => {
    provide();
    const { account } = await linked();
    const { cookie } = await signIn(account);
    identityProviders.splice(0);
    expect(await isOpen(cookie)).toBe(false);
    provide({ issuer: "https://other.example" });
    expect(await isOpen(cookie)).toBe(false);
    provide();
    expect(await isOpen(cookie)).toBe(true);
  });

  it("ends with the session at the provider, which sign-out leads to, and by a token that counts once", async () => {
    provide();
    const { account, cookie: byPassword } = await linked();
    const [here, there] = [new Map<string, string>(), new Map<string, string>()];
    const [first, second, third] = [
      await signIn(account, {}, here),
      await signIn(account, {}, here),
      await signIn(account, {}, there),
    ];
    const { endSessionUrl } = await pages.signIns(first.cookie).signOut({});
    expect(endSessionUrl.startsWith(`${company.issuer}/session/end?`)).toBe(true);
    expect(await isOpen(second.cookie)).toBe(true);
    const location = await company.signOut(endSessionUrl, here);
    expect(location).toBe(`${origin}/sign-in`);
    await expect.poll(() => company.sent.length).toBe(1);
    const [{ url, body, status }] = company.sent as [(typeof company.sent)[0]];
    expect([url, status]).toEqual([`${origin}/company-sign-in/corp/logout`, 200]);
    expect(await Promise.all([second.cookie, third.cookie, byPassword].map(isOpen))).toEqual([false, true, true]);
    expect((await send(new URL(url).pathname, { form: body })).status).toBe(400);
    expect((await send(new URL(url).pathname, { form: "logout_token=nonsense" })).status).toBe(400);
    const actions = await dashboard.accountRows("SELECT 1 FROM audit_entry WHERE action = 'SignOutByCompany'");
    expect(actions.length).toBeGreaterThan(0);
    expect((await pages.signIns(byPassword).signOut({})).endSessionUrl).toBe("");
  });
});
