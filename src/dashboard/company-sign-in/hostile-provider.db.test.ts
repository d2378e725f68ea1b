/** O8: a sign-in believes only what the right provider has signed for this client, and asks by the product's own client. */
import { describe, expect, it, vi } from "vitest";
import { linkIdentity } from "../../accounts/identities.ts";
import type { IdentityProvider } from "../../accounts/identity-providers-file.ts";
import { type Begun, CompanyBrowser } from "../../dev/testing/dashboard/company-browser.ts";
import { HostileProvider, type Token } from "../../dev/testing/dashboard/hostile-provider.ts";
import { codeOf, Pages } from "../../dev/testing/dashboard/pages.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { decodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { startDashboardFixture } from "../dashboard.fixture.ts";
import { serveForFile } from "../dashboard-server.fixture.ts";

const origin = "https://dashboard.example.com";
const hostile = await forFile(() => HostileProvider.start());
const twin = await forFile(() => HostileProvider.start());
const entryOf = (provider: HostileProvider, id: string): IdentityProvider => ({
  ...{ id, name: "Example Corp", issuer: provider.issuer, clientId: provider.clientId, merchants: "*" },
  ...{ clientSecret: new Secret(provider.clientSecret), privateKey: undefined, domains: ["corp.example"] },
  ...{ isExclusive: false, secondFactor: undefined, roles: undefined },
});
const identityProviders: IdentityProvider[] = [];
const dashboard = await forFile(() => startDashboardFixture({ members: true, identityProviders }));
const port = await serveForFile(dashboard, origin);
const pages = new Pages(() => dashboard);
const { beginSignIn, arriveAt, send } = new CompanyBrowser(pages, port);

const { memberId } = await dashboard.addMember("Ada", "OWNER");
const member = { memberId: decodeId("mbr", memberId)!, email: undefined };
await dashboard.accounts.transaction((tx) => linkIdentity(tx, { issuer: hostile.issuer, subject: "ada" }, member));

/** Begins with entries that no client was made for yet. */
async function begin(): Promise<Begun & { nonce: string; state: string }> {
  identityProviders.splice(0, identityProviders.length, entryOf(hostile, "corp"), entryOf(twin, "twin"));
  const begun = await beginSignIn();
  const { nonce = "", state = "" } = Object.fromEntries(new URL(begun.authorizationUrl).searchParams);
  return { ...begun, nonce, state };
}

const now = () => Math.floor(Date.now() / 1_000);
const good = (nonce: string) => ({
  ...{ iss: hostile.issuer, sub: "ada", aud: hostile.clientId, nonce, iat: now(), exp: now() + 300 },
});

/** Returns where a sign-in leads with an ID token, made of a good one. */
async function targetWith(change: (claims: ReturnType<typeof good>) => Partial<Token>, more = "", door = "corp") {
  const begun = await begin();
  hostile.token = { claims: good(begun.nonce), ...change(good(begun.nonce)) };
  const back = new URL(`${origin}/company-sign-in/${door}/callback?code=c&state=${begun.state}${more}`);
  return (await arriveAt(back, begun)).target;
}
const refused = "/company-sign-in?refused=refused";

describe("an ID token", () => {
  it("is believed if nothing is wrong with it", async () => {
    expect(await targetWith(() => ({}))).toBe("/");
    expect(await targetWith((claims) => ({ claims: { ...claims, azp: hostile.clientId } }))).toBe("/");
    const both = [hostile.clientId, "another"];
    expect(await targetWith((claims) => ({ claims: { ...claims, aud: both, azp: hostile.clientId } }))).toBe("/");
  });

  it.each<[string, object]>([
    ["iss of another provider", { iss: "https://accounts.example" }],
    ["iss of the other provider here", { iss: twin.issuer }],
    ["aud of another client", { aud: "another" }],
    ["aud of several without azp", { aud: [hostile.clientId, "another"] }],
    ["aud of several with another azp", { aud: [hostile.clientId, "another"], azp: "another" }],
    ["azp of another client", { azp: "another" }],
    ["nonce of another flow", { nonce: "another" }],
    ["nonce that is missing", { nonce: undefined }],
    ["end that is past", { exp: now() - 300 }],
    ["subject that is missing", { sub: undefined }],
  ])("is refused for: %s", async (_, wrong) => {
    expect(await targetWith((claims) => ({ claims: { ...claims, ...wrong } }))).toBe(refused);
  });

  it.each(["not", "byTheSecret", "byThePublicKey", "byAnotherKey"] as const)(
    "is refused if signed: %s",
    async (signed) => {
      expect(await targetWith(() => ({ signed }))).toBe(refused);
    },
  );
});

describe("a callback", () => {
  it("is refused with another provider's name, or at another provider's address", async () => {
    expect(await targetWith(() => ({}), `&iss=${encodeURIComponent(hostile.issuer)}`)).toBe("/");
    expect(await targetWith(() => ({}), `&iss=${encodeURIComponent(twin.issuer)}`)).toBe(refused);
    expect(await targetWith(() => ({}), "", "twin")).toBe("/company-sign-in?refused=expired");
  });

  it("is refused with another state, whatever else is right", async () => {
    const begun = await begin();
    hostile.token = { claims: good(begun.nonce) };
    for (const state of [`&state=${begun.state.slice(1)}`, "&state=", ""]) {
      const back = new URL(`${origin}/company-sign-in/corp/callback?code=c${state}`);
      expect((await arriveAt(back, begun)).target).toBe(refused);
    }
  });

  it("with an error signs no one in", async () => {
    const begun = await begin();
    const back = new URL(`${origin}/company-sign-in/corp/callback?error=access_denied&state=${begun.state}`);
    expect((await arriveAt(back, begun)).target).toBe(refused);
  });
});

describe("requests to a provider", () => {
  it("go by the product's own client, and follow no redirect", async () => {
    const fetched = vi.spyOn(globalThis, "fetch");
    hostile.tokenAnswer = { status: 307, headers: { location: `${twin.issuer}/token` }, body: "" };
    const before = twin.requested.length;
    expect(await targetWith(() => ({}))).toBe(refused);
    expect(twin.requested.length).toBe(before);
    hostile.tokenAnswer = { status: 200, body: JSON.stringify({ more: "x".repeat(1024 * 1024) }) };
    expect(await targetWith(() => ({}))).toBe("/company-sign-in?refused=unavailable");
    hostile.tokenAnswer = undefined;
    expect(await targetWith(() => ({}))).toBe("/");
    // The test's own client speaks HTTP/2 without it.
    expect(fetched).not.toHaveBeenCalled();
    fetched.mockRestore();
  });

  it("end where a provider writes another issuer than the file, or does not answer", async () => {
    hostile.metadata = { issuer: "https://accounts.example" };
    expect(await codeOf(begin())).toBe("unavailable");
    hostile.metadata = {};
    await begin();
  });
});

describe("a logout token", () => {
  const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
  const logout = (jti: string) => ({ iss: hostile.issuer, sub: "ada", aud: hostile.clientId, iat: now(), jti, events });
  let jtis = 0;
  /** Signs in, sends a token, and returns its status and whether the sign-in is open. */
  async function sent(change: (claims: ReturnType<typeof logout>) => Partial<Token>) {
    const begun = await begin();
    hostile.token = { claims: good(begun.nonce) };
    const back = new URL(`${origin}/company-sign-in/corp/callback?code=c&state=${begun.state}`);
    const { cookie } = await arriveAt(back, begun);
    const claims = logout(`j${++jtis}`);
    const form = new URLSearchParams({ logout_token: hostile.write({ claims, ...change(claims) }) }).toString();
    const { status } = await send("/company-sign-in/corp/logout", { form });
    const current = pages.signIns(cookie).getCurrentSignIn({});
    return [status, await current.then(() => "open").catch(() => codeOf(current))];
  }

  it("ends the member's sign-ins if nothing is wrong with it", async () => {
    expect(await sent(() => ({}))).toEqual([200, "sign_in_required"]);
  });

  it("makes the dashboard fetch keys once, however many are sent", async () => {
    await sent(() => ({}));
    const fetched = () => hostile.requested.filter((path) => path === "/keys").length;
    const before = fetched();
    const form = () => new URLSearchParams({ logout_token: hostile.write({ claims: {}, header: { kid: "two" } }) });
    for (let times = 0; times < 5; times++) await send("/company-sign-in/corp/logout", { form: form().toString() });
    expect(fetched() - before).toBeLessThanOrEqual(1);
  });

  it.each<[string, object]>([
    ["iss of another provider", { iss: twin.issuer }],
    ["aud of another client", { aud: "another" }],
    ["a nonce, as an ID token has", { nonce: "n" }],
    ["no event", { events: {} }],
    ["no event at all", { events: undefined }],
    ["no id", { jti: undefined }],
    ["neither member nor session", { sub: undefined }],
    ["an age of an hour", { iat: now() - 3_600 }],
    ["another session", { sid: "another" }],
    ["another member", { sub: "bo" }],
  ])("ends nothing with: %s", async (name, wrong) => {
    const isValid = name.startsWith("another");
    const result = await sent((claims) => ({ claims: { ...claims, ...wrong } }));
    expect(result).toEqual([isValid ? 200 : 400, "open"]);
  });

  it.each(["not", "byTheSecret", "byThePublicKey", "byAnotherKey"] as const)(
    "ends nothing if signed: %s",
    async (signed) => {
      expect(await sent(() => ({ signed }))).toEqual([400, "open"]);
    },
  );
});
