import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { Secret as OtpSecret, TOTP } from "otpauth";
import { describe, expect, it } from "vitest";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { Role, role } from "../../gen/dashboard/v1/role_pb.ts";
import { Authenticator } from "../dev/testing/dashboard/authenticator.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { restOf } from "../dev/testing/dashboard/sample-requests.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { memberPassword, startDashboardFixture } from "./dashboard.fixture.ts";
import { dashboardServices } from "./service-list.ts";

const pages = new Pages(() => dashboard);
const dashboard = await forFile(() => startDashboardFixture({ members: true, live: "besideTest", secondFactor: true }));

const calls = (cookie: string) => {
  const { merchantId } = dashboard;
  return {
    "keys of live": () => pages.keys(cookie).listApiKeys({ merchantId, environment: Environment.LIVE }),
    "the team": () => pages.members(cookie).listMembers({ merchantId }),
    "a new merchant": () => pages.signIns(cookie).openMerchant({ name: "Tea House" }),
  };
};

async function addPasskey(cookie: string): Promise<Authenticator> {
  const device = new Authenticator("https://dashboard.example.com");
  const { options } = await pages.passkeys(cookie).offerPasskey({});
  await pages.passkeys(cookie).addPasskey({ credential: device.create(options), name: "Phone" });
  return device;
}

async function enterByPasskey(device: Authenticator) {
  const { options } = await pages.passkeys().beginPasskeySignIn({});
  return (await pages.passkeys().signInWithPasskey({ credential: device.get(options) })).member;
}

const namesOf = (method: DescMethod) => method.input.fields.map(({ name }) => name);
const ofMembers = dashboardServices
  .flatMap((service) => service.methods)
  .filter((method) => hasOption(method, role) && getOption(method, role) !== Role.OPERATOR)
  .map((method): [string, DescMethod] => [`${method.parent.name}.${method.name}`, method]);

function requestOf(method: DescMethod, environment: "ENVIRONMENT_LIVE" | "ENVIRONMENT_TEST") {
  const names = namesOf(method);
  const { merchantId } = dashboard;
  return {
    ...restOf(method),
    ...(names.includes("merchant_id") && { merchantId }),
    ...(names.includes("environment") && { environment }),
  };
}

describe("a second factor that is required", () => {
  it("keeps a member who has none out of live and of what live shares, but not out of their account", async () => {
    const cookie = await pages.join("Olive", "OWNER");
    for (const [name, call] of Object.entries(calls(cookie)))
      expect(await codeOf(call()), name).toBe("second_factor_required");
    await expect(calls(cookie)["the team"]()).rejects.toThrow("Open your account");
    expect(await pages.signIns(cookie).getCurrentSignIn({})).toMatchObject({ secondFactorRequired: true });
    await pages.signIns(cookie).listSignIns({});
    await pages.signIns(cookie).offerTotp({});
    const { merchantId } = dashboard;
    await pages.keys(cookie).listApiKeys({ merchantId, environment: Environment.TEST });
  });

  it("is asked of every method of a role that does not name test", async () => {
    const cookie = await pages.join("Otto", "OWNER");
    expect(ofMembers.length).toBeGreaterThan(50);
    for (const [name, method] of ofMembers) {
      const inLive = pages.call(method, cookie, requestOf(method, "ENVIRONMENT_LIVE"));
      expect(await codeOf(inLive), name).toBe("second_factor_required");
    }
  });

  it("is asked of no method that reads test", async () => {
    const cookie = await pages.join("Orla", "OWNER");
    const reading = ofMembers.filter(
      ([name, method]) => namesOf(method).includes("environment") && /\.List/.test(name),
    );
    expect(reading.length).toBeGreaterThan(5);
    for (const [name, method] of reading) {
      const answer = pages.call(method, cookie, requestOf(method, "ENVIRONMENT_TEST"));
      const code = await answer.then(
        () => undefined,
        () => codeOf(answer),
      );
      expect(code, name).not.toBe("second_factor_required");
    }
  });

  it("is not asked of an operator", async () => {
    const operator = await dashboard.hireOperator("root");
    await pages.members(undefined, operator).listMembers({ merchantId: dashboard.merchantId });
  });

  it("is an authenticator app, which ends the other sign-ins", async () => {
    await dashboard.addMember("Ada", "OWNER");
    const [cookie, other] = [await pages.enter("Ada"), await pages.enter("Ada")];
    const { secret } = await pages.signIns(cookie).offerTotp({});
    await pages.signIns(cookie).confirmTotp({ code: new TOTP({ secret: OtpSecret.fromBase32(secret) }).generate() });
    for (const call of Object.values(calls(cookie))) await call();
    expect(await codeOf(pages.signIns(other).listSignIns({}))).toBe("sign_in_required");
  });

  it("is a passkey, which ends the other sign-ins, and without which its member proves nothing", async () => {
    await dashboard.addMember("Petra", "OWNER");
    const [cookie, other] = [await pages.enter("Petra"), await pages.enter("Petra")];
    const device = await addPasskey(cookie);
    const { merchantId } = dashboard;
    const { members } = await pages.members(cookie).listMembers({ merchantId });
    expect(members.find(({ name }) => name === "Petra")).toMatchObject({ hasTotp: false, hasPasskey: true });
    expect(members.find(({ name }) => name === "Olive")).toMatchObject({ hasTotp: false, hasPasskey: false });
    for (const call of Object.values(calls(cookie))) await call();
    expect(await codeOf(pages.signIns(other).listSignIns({}))).toBe("sign_in_required");
    const byPassword = pages.signIns().signIn({ email: "petra@example.com", password: memberPassword });
    await expect(byPassword).rejects.toThrow("Use your passkey");
    await expect(pages.signIns(cookie).proveSignIn({ password: memberPassword })).rejects.toThrow("Use your passkey");
    expect(await enterByPasskey(device)).toMatchObject({ name: "Petra" });
  });

  it("counts for the sign-in that proved it, not for another one of the member", async () => {
    const cookie = await pages.join("Tess", "OWNER");
    const { secret } = await pages.signIns(cookie).offerTotp({});
    const app = new TOTP({ secret: OtpSecret.fromBase32(secret) });
    const codeAt = (period: number) => app.generate({ timestamp: Date.now() + period * 30_000 });
    await pages.signIns(cookie).confirmTotp({ code: codeAt(-1) });
    const device = await addPasskey(cookie);
    const forget = () => dashboard.accountRows("UPDATE sign_in SET second_factor = NULL");
    const state = async () => (await pages.signIns(cookie).getCurrentSignIn({})).hasSecondFactor;
    await forget();
    expect(await state()).toBe(false);
    for (const [name, call] of Object.entries(calls(cookie))) {
      expect(await codeOf(call()), name).toBe("second_factor_required");
      await expect(call(), name).rejects.toThrow("Confirm your identity");
    }
    let later = cookie;
    const onHeader = (headers: Headers) => {
      later = headers.get("set-cookie")!.split(";")[0]!;
    };
    await pages.signIns(cookie).proveSignIn({ password: memberPassword, code: codeAt(0) }, { onHeader });
    for (const call of Object.values(calls(later))) await call();
    await forget();
    const { options } = await pages.passkeys(later).beginPasskeyProof({});
    await pages.passkeys(later).proveWithPasskey({ credential: device.get(options) }, { onHeader });
    for (const call of Object.values(calls(later))) await call();
    const entered = await pages.enter("Tess", { code: codeAt(1) });
    for (const call of Object.values(calls(entered))) await call();
  });

  it("ends with the app, and with the last passkey, that proved it", async () => {
    const cookie = await pages.join("Rita", "OWNER");
    const { secret } = await pages.signIns(cookie).offerTotp({});
    await pages.signIns(cookie).confirmTotp({ code: new TOTP({ secret: OtpSecret.fromBase32(secret) }).generate() });
    await pages.signIns(cookie).removeTotp({});
    const refused = async () => codeOf(calls(cookie)["the team"]());
    expect(await refused()).toBe("second_factor_required");
    await addPasskey(cookie);
    await addPasskey(cookie);
    const { passkeys } = await pages.passkeys(cookie).listPasskeys({});
    await pages.passkeys(cookie).removePasskey({ passkeyId: passkeys[0]!.passkeyId });
    await calls(cookie)["the team"]();
    await pages.passkeys(cookie).removePasskey({ passkeyId: passkeys[1]!.passkeyId });
    expect(await refused()).toBe("second_factor_required");
  });

  it("lets a member with a passkey join another team, and sign in by the passkey then", async () => {
    const owner = await pages.join("Olga", "OWNER");
    await addPasskey(owner);
    await dashboard.addMember("Pia");
    const device = await addPasskey(await pages.enter("Pia"));
    const { merchantId } = dashboard;
    await pages
      .members(owner)
      .inviteMember({ merchantId, email: "pia@example.com", role: Role.VIEWER, liveRole: Role.VIEWER });
    const token = pages.tokenMailedTo("pia@example.com");
    const { member } = await pages.signIns().acceptInvitation({ token, password: memberPassword });
    expect(member).toBeUndefined();
    expect(await enterByPasskey(device)).toMatchObject({ memberships: [{ merchantId, role: Role.VIEWER }] });
  });
});

describe("a second factor that is not required", () => {
  it.each([
    ["as it is optional", { live: true, secondFactor: false }],
    ["as live is not served", { live: false, secondFactor: true }],
  ])("is asked of no one, %s", async (_, options) => {
    const open = await startDashboardFixture({ members: true, ...options });
    const own = new Pages(() => open);
    await open.addMember("Olive", "OWNER");
    const cookie = await own.enter("Olive");
    await own.members(cookie).listMembers({ merchantId: open.merchantId });
    await own.signIns(cookie).proveSignIn({ password: memberPassword });
    expect(await own.signIns(cookie).getCurrentSignIn({})).toMatchObject({ secondFactorRequired: false });
    await open.close();
  });
});
