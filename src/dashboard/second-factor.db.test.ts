import { Secret as OtpSecret, TOTP } from "otpauth";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { Authenticator } from "../dev/testing/dashboard/authenticator.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { type DashboardFixture, memberPassword, startDashboardFixture } from "./dashboard.fixture.ts";

let dashboard: DashboardFixture;
const pages = new Pages(() => dashboard);
beforeAll(async () => {
  dashboard = await startDashboardFixture({ members: true, live: true, secondFactor: true });
});
afterAll(() => dashboard?.close());

const calls = (cookie: string) => {
  const { merchantId } = dashboard;
  return {
    "keys of live": () => pages.keys(cookie).listApiKeys({ merchantId, environment: Environment.LIVE }),
    "the team": () => pages.members(cookie).listMembers({ merchantId }),
    "a new merchant": () => pages.signIns(cookie).openMerchant({ name: "Tea House" }),
  };
};

describe("a second factor that is required", () => {
  it("keeps a member who has none out of live and of what live shares, but not out of their account", async () => {
    await dashboard.addMember("Olive", "OWNER");
    const cookie = await pages.enter("Olive");
    for (const [name, call] of Object.entries(calls(cookie)))
      expect(await codeOf(call()), name).toBe("role_not_allowed");
    await pages.signIns(cookie).listSignIns({});
  });

  it("is an authenticator app, which ends the other sign-ins", async () => {
    await dashboard.addMember("Ada", "OWNER");
    const [cookie, other] = [await pages.enter("Ada"), await pages.enter("Ada")];
    const { secret } = await pages.signIns(cookie).offerTotp({});
    await pages.signIns(cookie).confirmTotp({ code: new TOTP({ secret: OtpSecret.fromBase32(secret) }).generate() });
    for (const call of Object.values(calls(cookie))) await call();
    expect(await codeOf(pages.signIns(other).listSignIns({}))).toBe("sign_in_required");
  });

  it("is a passkey, which ends the other sign-ins, and without which its member cannot sign in", async () => {
    await dashboard.addMember("Petra", "OWNER");
    const [cookie, other] = [await pages.enter("Petra"), await pages.enter("Petra")];
    const device = new Authenticator("https://dashboard.example.com");
    const { options } = await pages.passkeys(cookie).offerPasskey({});
    await pages.passkeys(cookie).addPasskey({ credential: device.create(options), name: "Phone" });
    for (const call of Object.values(calls(cookie))) await call();
    expect(await codeOf(pages.signIns(other).listSignIns({}))).toBe("sign_in_required");
    const byPassword = pages.signIns().signIn({ email: "petra@example.com", password: memberPassword });
    await expect(byPassword).rejects.toThrow("Sign in with your passkey");
    const asked = await pages.passkeys().beginPasskeySignIn({});
    const credential = device.get(asked.options);
    expect((await pages.passkeys().signInWithPasskey({ credential })).member).toMatchObject({ name: "Petra" });
  });
});

describe("a second factor that is optional", () => {
  it("is asked of no one", async () => {
    const optional = await startDashboardFixture({ members: true, live: true });
    const own = new Pages(() => optional);
    await optional.addMember("Olive", "OWNER");
    await own.members(await own.enter("Olive")).listMembers({ merchantId: optional.merchantId });
    await optional.close();
  });
});
