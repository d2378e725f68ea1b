import { describe, expect, it } from "vitest";
import { Authenticator, type Lie } from "../dev/testing/dashboard/authenticator.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const passkeysMax = 20;

const origin = "https://dashboard.example.com";

const pages = new Pages(() => dashboard);
const passkeys = (cookie?: string) => pages.passkeys(cookie);
const dashboard = await forFile(() => startDashboardFixture({ members: true }));

async function memberWithPasskey(name: string) {
  await dashboard.addMember(name, "VIEWER");
  const cookie = await pages.enter(name);
  const device = new Authenticator(origin);
  const { options } = await passkeys(cookie).offerPasskey({});
  const { passkey } = await passkeys(cookie).addPasskey({ credential: device.create(options), name: "Phone" });
  return { cookie, device, passkeyId: passkey!.passkeyId };
}

async function signInBy(device: Authenticator, lie?: Lie) {
  const { options } = await passkeys().beginPasskeySignIn({});
  return passkeys().signInWithPasskey({ credential: device.get(options, lie) });
}

describe("a passkey", () => {
  it("signs its member in without password or code, and is named in the account's events", async () => {
    const { cookie, device, passkeyId } = await memberWithPasskey("Petra");
    expect((await signInBy(device)).member).toMatchObject({ email: "petra@example.com", hasPasskey: true });
    const listed = await passkeys(cookie).listPasskeys({});
    expect(listed.passkeys).toMatchObject([{ passkeyId, name: "Phone", synced: false }]);
    expect(listed.passkeys[0]?.lastUsedAt).toBeDefined();
    const { entries } = await pages.signIns(cookie).listAccountEvents({});
    expect(entries.map(({ action }) => action)).toEqual(["SignInWithPasskey", "AddPasskey", "SignIn"]);
    const [kept] = await dashboard.accountRows<{ transports: string[] }>("SELECT transports FROM passkey");
    expect(kept?.transports).toEqual(["internal"]);
  });

  it("renews the proof of its own member only", async () => {
    const { cookie, device } = await memberWithPasskey("Quinn");
    const other = await memberWithPasskey("Rolf");
    await pages.setBack("proved_at", "15 minutes", cookie);
    expect(await codeOf(passkeys(cookie).offerPasskey({}))).toBe("fresh_sign_in_required");
    const begin = async () => (await passkeys(cookie).beginPasskeyProof({})).options;
    const foreign = passkeys(cookie).proveWithPasskey({ credential: other.device.get(await begin()) });
    expect(await codeOf(foreign)).toBe("invalid_sign_in");
    const cookies: (string | null)[] = [];
    await passkeys(cookie).proveWithPasskey(
      { credential: device.get(await begin()) },
      { onHeader: (headers) => cookies.push(headers.get("set-cookie")) },
    );
    await passkeys(cookies[0]!.split(";")[0]).offerPasskey({});
  });

  it("can be renamed and removed by its member only, and no longer signs in after that", async () => {
    const { cookie, device, passkeyId } = await memberWithPasskey("Sven");
    const { cookie: stranger } = await memberWithPasskey("Thea");
    expect(await codeOf(passkeys(stranger).renamePasskey({ passkeyId, name: "Mine" }))).toBe("not_found");
    expect(await codeOf(passkeys(stranger).removePasskey({ passkeyId }))).toBe("not_found");
    await passkeys(cookie).renamePasskey({ passkeyId, name: "Old phone" });
    expect((await passkeys(cookie).listPasskeys({})).passkeys.map(({ name }) => name)).toEqual(["Old phone"]);
    await passkeys(cookie).removePasskey({ passkeyId });
    expect(await codeOf(signInBy(device))).toBe("invalid_sign_in");
  });

  it("belongs to one member, who has at most twenty", async () => {
    const { cookie } = await memberWithPasskey("Ulla");
    await dashboard.accountRows(
      `INSERT INTO passkey (id, member_id, public_key, sign_count, name)
       SELECT each::text::bytea, (SELECT id FROM member WHERE email = 'ulla@example.com'), '', 0, 'one'
       FROM generate_series(2, ${passkeysMax - 1}) AS each`,
    );
    const devices = Array.from({ length: 4 }, () => new Authenticator(origin));
    const credentials: string[] = [];
    for (const each of devices) credentials.push(each.create((await passkeys(cookie).offerPasskey({})).options));
    // Every call that has counted waits here to insert, unless a lock serializes them.
    const held = dashboard.accountRows("DO $$ BEGIN LOCK TABLE passkey IN SHARE MODE; PERFORM pg_sleep(0.5); END $$");
    const adding = credentials.map((credential) => passkeys(cookie).addPasskey({ credential, name: "At once" }));
    expect((await Promise.allSettled(adding)).filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await held;
    expect(await codeOf(passkeys(cookie).offerPasskey({}))).toBe("state_conflict");
    const udo = await pages.join("Udo", "VIEWER");
    const device = new Authenticator(origin);
    const add = async (by: string) => {
      const { options } = await passkeys(by).offerPasskey({});
      return passkeys(by).addPasskey({ credential: device.create(options), name: "Shared" });
    };
    await add(udo);
    await dashboard.addMember("Ugo", "VIEWER");
    expect(await codeOf(add(await pages.enter("Ugo")))).toBe("state_conflict");
  });
});

describe("an answer of a passkey", () => {
  it.each<[string, Lie]>([
    ["another origin's page", { origin: "https://dashboard.example.com.evil.example" }],
    ["another host's passkey", { rpId: "evil.example" }],
    ["nobody verified", { isVerified: false }],
    ["a registration's answer", { type: "webauthn.create" }],
    ["a challenge that was never given", { challenge: Buffer.alloc(32).toString("base64url") }],
    ["a count that does not grow", { count: 1 }],
    ["another account's handle", { userHandle: Buffer.alloc(16).toString("base64url") }],
  ])("is refused: %s", async (_, lie) => {
    const { device } = await memberOnce();
    expect(await codeOf(signInBy(device, lie))).toBe("invalid_sign_in");
    await signInBy(device);
  });

  it.each<[string, Lie]>([
    ["another origin's page", { origin: "https://evil.example" }],
    ["nobody verified", { isVerified: false }],
    ["another host", { rpId: "evil.example" }],
    ["a sign-in's answer", { type: "webauthn.get" }],
  ])("to be added is refused: %s", async (_, lie) => {
    const { cookie } = await memberOnce();
    const { options } = await passkeys(cookie).offerPasskey({});
    const credential = new Authenticator(origin).create(options, lie);
    expect(await codeOf(passkeys(cookie).addPasskey({ credential, name: "Lie" }))).toBe("invalid_sign_in");
  });

  it("is accepted once, for its purpose, for its member, within five minutes", async () => {
    const { cookie, device } = await memberOnce();
    const begun = await passkeys().beginPasskeySignIn({});
    const credential = device.get(begun.options);
    await passkeys().signInWithPasskey({ credential });
    expect(await codeOf(passkeys().signInWithPasskey({ credential }))).toBe("invalid_sign_in");
    const proof = await passkeys(cookie).beginPasskeyProof({});
    expect(await codeOf(passkeys().signInWithPasskey({ credential: device.get(proof.options) }))).toBe(
      "invalid_sign_in",
    );
    const elsewhere = await pages.enter("Once");
    const another = await passkeys(elsewhere).beginPasskeyProof({});
    expect(await codeOf(passkeys(cookie).proveWithPasskey({ credential: device.get(another.options) }))).toBe(
      "invalid_sign_in",
    );
    const late = await passkeys().beginPasskeySignIn({});
    await dashboard.accountRows("UPDATE passkey_challenge SET expires_at = expires_at - interval '5 minutes'");
    expect(await codeOf(passkeys().signInWithPasskey({ credential: device.get(late.options) }))).toBe(
      "invalid_sign_in",
    );
  });

  it("is refused when it is malformed", async () => {
    const clientDataJSON = Buffer.from(JSON.stringify({ challenge: 1 })).toString("base64url");
    for (const credential of [
      "{}",
      "null",
      "[",
      '{"response":{}}',
      JSON.stringify({ id: "x", response: { clientDataJSON } }),
    ]) {
      expect(await codeOf(passkeys().signInWithPasskey({ credential }))).toBe("invalid_sign_in");
    }
  });

  it("may be requested thirty times without an answer", async () => {
    await dashboard.accountRows("DELETE FROM passkey_challenge");
    const begun = await Promise.allSettled(Array.from({ length: 40 }, () => passkeys().beginPasskeySignIn({})));
    expect(begun.filter(({ status }) => status === "rejected").length).toBeGreaterThan(0);
    expect(await codeOf(passkeys().beginPasskeySignIn({}))).toBe("rate_limited");
  });
});

let once: ReturnType<typeof memberWithPasskey> | undefined;
/** Returns one member, shared by the tests that change nothing. */
function memberOnce() {
  once ??= memberWithPasskey("Once");
  return once;
}
