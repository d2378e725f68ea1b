/** The block list by the dashboard's rpcs: roles, what can be blocked, errors, and the audit trail. */
import type { JsonValue } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { BlocklistService } from "../../gen/dashboard/v1/blocklist_pb.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { makePayment, openTables } from "../dev/testing/dashboard/payment-rows.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const pages = new Pages(() => dashboard);
const dashboard = await forFile(() => startDashboardFixture({ members: true }));
const cookies = {
  dora: await pages.join("Dora", "DEVELOPER"),
  viv: await pages.join("Viv", "VIEWER"),
  stale: await pages.enterStale("Dora"),
};

type Entry = { readonly entryId: string } & Record<string, unknown>;
const scope = () => ({ merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" });
const call = (name: keyof typeof BlocklistService.method, fields: object, cookie = cookies.dora) =>
  pages.call(BlocklistService.method[name], cookie, { ...scope(), ...fields } as JsonValue) as Promise<never>;
const add = (fields: object, cookie?: string): Promise<{ entry: Entry }> =>
  call("addBlocklistEntry", { reason: "Tried cards", ...fields }, cookie);
const end = (entryId: string, cookie?: string) => call("endBlocklistEntry", { entryId }, cookie);
const list = async () => ((await call("listBlocklist", {}, cookies.viv)) as { entries: Entry[] }).entries;
const partsOf = async (sessionId: string) =>
  (
    (await call("listBlockableParts", { sessionId }, cookies.viv)) as {
      parts: { part: number; text: string; entry?: Entry }[];
    }
  ).parts;

/** Makes a payment of a customer; `from` has the columns of the card, the address and the network. */
async function payment(from: Record<string, string> = {}, merchantUuid = decodeId("mer", dashboard.merchantId)!) {
  await openTables(dashboard);
  const { sessionId } = await makePayment(dashboard, { merchantUuid });
  const set = Object.entries(from).map(([column, value]) => `${column} = '${value}'`);
  if (set.length > 0)
    await dashboard.rows(`UPDATE payment_session SET ${set.join(", ")} WHERE id = $1`, [decodeId("ps", sessionId)]);
  await dashboard.rows(switchGuards("ENABLE"));
  return sessionId;
}
const customer = {
  card_fingerprint: "00112233-4455-6677-8899-aabbccddeeff",
  customer_email: "eve@example.com",
  customer_network: "93.184.216.0/24",
};

async function refusalOf(refused: Promise<unknown>) {
  const { rawMessage } = await refused.then(
    () => {
      throw new Error("the call was not refused");
    },
    (error: unknown) => ConnectError.from(error),
  );
  return rawMessage;
}

describe("the block list", () => {
  it("is changed by developers and owners with a fresh sign-in, and read by all", async () => {
    const email = "roles@example.com";
    expect(await codeOf(add({ email }, cookies.viv))).toBe("role_not_allowed");
    expect(await codeOf(add({ email }, cookies.stale))).toBe("fresh_sign_in_required");
    expect(await codeOf(add({ email }, ""))).toBe("sign_in_required");
    expect(await list()).toEqual([]);
    const { entry } = await add({ email });
    expect(await codeOf(end(entry.entryId, cookies.viv))).toBe("role_not_allowed");
    expect(await codeOf(end(entry.entryId, cookies.stale))).toBe("fresh_sign_in_required");
    expect((await list()).map(({ entryId }) => entryId)).toEqual([entry.entryId]);
    await end(entry.entryId);
    expect(await list()).toEqual([]);
    expect(await codeOf(end(entry.entryId))).toBe("not_found");
    const trail = await dashboard.rows(
      "SELECT actor, action, before, after FROM audit_entry WHERE subject = $1 ORDER BY id",
      [entry.entryId],
    );
    const kept = { kind: "EMAIL", reason: "Tried cards", endsAt: null };
    const actor = expect.stringMatching(/^dora@example\.com/);
    expect(trail).toMatchObject([
      { actor, action: "AddBlocklistEntry", before: null, after: kept },
      { actor, action: "EndBlocklistEntry", before: { ...kept, endsAt: expect.any(String) }, after: null },
    ]);
    expect(JSON.stringify(trail)).not.toContain(email);
  });

  it("takes the parts that a payment has, and shows what blocks them", async () => {
    const sessionId = await payment(customer);
    expect((await partsOf(sessionId)).map(({ part, text, entry }) => [part, text, entry])).toEqual([
      [1, "4242", undefined],
      [2, "eve@example.com", undefined],
      [3, "93.184.216.0/24", undefined],
    ]);
    for (const part of ["CARD", "EMAIL", "NETWORK"])
      await add({ payment: { sessionId, part: `PAYMENT_PART_${part}` } });
    const parts = await partsOf(sessionId);
    expect(parts.map(({ entry }) => [entry?.kind, entry?.network, entry?.cardLast4, entry?.sessionId])).toEqual([
      [1, "", "4242", sessionId],
      [2, "", "", sessionId],
      [3, "93.184.216.0/24", "", sessionId],
    ]);
    for (const same of [{ email: "EVE@example.com" }, { network: "93.184.216.9/24" }])
      expect(await codeOf(add(same))).toBe("state_conflict");
    for (const { entry } of parts) await end(entry!.entryId);
  });

  it("takes no part that a payment lacks, and no payment of another merchant", async () => {
    const bare = await payment();
    expect(await partsOf(bare)).toEqual([]);
    const missing = {
      CARD: /no card that can be recognized/,
      EMAIL: /no e-mail/,
      NETWORK: /no public/,
    };
    for (const [part, says] of Object.entries(missing))
      expect(await refusalOf(add({ payment: { sessionId: bare, part: `PAYMENT_PART_${part}` } }))).toMatch(says);
    for (const sessionId of [await payment(customer, v7()), encodeId("ps", v7()), "ps_1"]) {
      expect(await codeOf(add({ payment: { sessionId, part: "PAYMENT_PART_CARD" } }))).toBe("not_found");
      expect(await codeOf(call("listBlockableParts", { sessionId }))).toBe("not_found");
    }
  });

  it.each<[string, object, string, RegExp]>([
    ["no e-mail address", { email: "eve" }, "invalid_field", /not an e-mail address/],
    ["another prefix of IPv4", { network: "93.184.216.0/23" }, "invalid_field", /IPv4 address or its \/24/],
    ["another prefix of IPv6", { network: "2a00:1450:4001::/56" }, "invalid_field", /\/64 or \/48 of IPv6/],
    ["a private network", { network: "10.0.0.0/24" }, "invalid_field", /public/],
    ["no network", { network: "example.com" }, "invalid_field", /public/],
    ["nothing", {}, "missing_field", /payment, email, network/],
    ["a card by its number", { card: "4242424242424242" }, "", /card/],
    ["no part", { payment: { sessionId: "ps_1" } }, "missing_field", /payment\.part/],
    ["no reason", { email: "eve@example.com", reason: "" }, "missing_field", /reason/],
    ["a blank reason", { email: "eve@example.com", reason: "  " }, "invalid_field", /reason must not be blank/],
    ["a long reason", { email: "eve@example.com", reason: "x".repeat(201) }, "invalid_field", /reason.*200/],
    ["a past end", { email: "eve@example.com", endsAt: "2026-01-01T00:00:00Z" }, "invalid_field", /endsAt.*now/],
  ])("refuses %s, and names the field and its rule", async (_name, fields, code, says) => {
    const refused = () => Promise.resolve().then(() => add(fields));
    if (code !== "") expect(await codeOf(refused())).toBe(code);
    expect(await refusalOf(refused())).toMatch(says);
  });

  it("takes an IPv6 address for its /64, and ends an entry at its time", async () => {
    const endsAt = new Date(Date.now() + 60_000).toISOString();
    const { entry } = await add({ network: "2a00:1450:4001:81b::1", endsAt });
    expect(entry).toMatchObject({ network: "2a00:1450:4001:81b::/64" });
    expect((await list()).map(({ network }) => network)).toEqual(["2a00:1450:4001:81b::/64"]);
    await dashboard.rows("UPDATE blocklist_entry SET ends_at = now() WHERE ends_at > now()");
    expect(await list()).toEqual([]);
  });
});
