import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { ApiKey_Kind as Kind } from "../../gen/dashboard/v1/api_keys_pb.ts";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { findKeyHolder } from "../accounts/api-keys.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { sha256 } from "../platform/secrets.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const dashboard = await forFile(() => startDashboardFixture({ members: true }));
await dashboard.addMember("Dora", "DEVELOPER");
await dashboard.addMember("Olive", "OWNER");
const pages = new Pages(() => dashboard);
const keys = pages.keys(await pages.enter("Olive"));

const scope = { merchantId: dashboard.merchantId, environment: Environment.TEST };
const wanted = { ...scope, name: "Back office", rights: ["refunds.create", "sessions.read"] };
const holderOf = (key: string) => findKeyHolder(dashboard.database, sha256(key));
const list = async (kind: Kind) => (await keys.listApiKeys(scope)).apiKeys.filter((key) => key.kind === kind);
const auditOf = (action: string) =>
  dashboard.rows(`SELECT actor, subject, before, after FROM audit_entry WHERE action = '${action}'`);

describe("restricted keys", () => {
  it("are made by an owner, shown once, listed and audited without the key", async () => {
    const expiresAt = timestampFromDate(new Date("2099-01-01T00:00:00Z"));
    const refundCap = [{ currency: "EUR", amountMinor: 50_000n }];
    const { key, apiKey } = await keys.createRestrictedKey({ ...wanted, expiresAt, refundCap });
    expect(key).toMatch(/^switchyard_test_rk_[0-9A-Za-z]{38}$/);
    expect(await holderOf(key)).toMatchObject({ rights: wanted.rights, refundCap: { EUR: 50_000 } });
    const [listed] = await list(Kind.RESTRICTED);
    expect(listed).toEqual(apiKey);
    expect(listed).toMatchObject({ name: "Back office", rights: wanted.rights, expiresAt, key: "" });
    expect(listed?.refundCap).toMatchObject([{ currency: "EUR", amountMinor: 50_000n, exponent: 2 }]);
    const [row] = await auditOf("CreateRestrictedKey");
    expect(row).toMatchObject({ subject: apiKey?.keyId, after: { name: "Back office", refundCap: { EUR: 50_000 } } });
    expect(JSON.stringify(row)).not.toContain(key.slice(-38));
    await keys.revokeApiKey({ ...scope, keyId: apiKey!.keyId });
    expect([await holderOf(key), await list(Kind.RESTRICTED)]).toEqual([undefined, []]);
    expect(await codeOf(keys.revokeApiKey({ ...scope, keyId: apiKey!.keyId }))).toBe("not_found");
    expect(await auditOf("RevokeApiKey")).toMatchObject([{ subject: apiKey?.keyId }]);
  });

  it.each([
    ["no right", { rights: [] }],
    ["an unknown right", { rights: ["everything"] }],
    ["a right twice", { rights: ["sessions.read", "sessions.read"] }],
    ["a blank name", { name: " " }],
    ["a name with a link", { name: "www.example.com" }],
    ["an end in the past", { expiresAt: timestampFromDate(new Date(0)) }],
    [
      "a cap without the right to refund",
      { rights: ["sessions.read"], refundCap: [{ currency: "EUR", amountMinor: 1n }] },
    ],
    ["a cap of an unknown currency", { refundCap: [{ currency: "XAU", amountMinor: 1n }] }],
    ["two caps of a currency", { refundCap: [1n, 2n].map((amountMinor) => ({ currency: "EUR", amountMinor })) }],
    ["a cap of nothing", { refundCap: [{ currency: "EUR", amountMinor: 0n }] }],
  ])("are not made with %s", async (_, fields) => {
    expect(await codeOf(keys.createRestrictedKey({ ...wanted, ...fields }))).toBe("invalid_field");
  });

  it("are for owners, with a fresh proof", async () => {
    const developer = pages.keys(await pages.enter("Dora"));
    expect(await codeOf(developer.createRestrictedKey(wanted))).toBe("role_not_allowed");
    expect((await developer.listApiKeys(scope)).apiKeys).toHaveLength(2);
  });
});

describe("a roll", () => {
  it("replaces the secret key while the old one works, until it is revoked or both are regenerated", async () => {
    const old = dashboard.secretKey.expose();
    const [{ keyId } = { keyId: "" }] = await list(Kind.SECRET);
    const { key, oldKeyEndsAt } = await keys.rollApiKey({ ...scope, keyId, oldKeySeconds: 3_600n });
    expect(await Promise.all([old, key].map(holderOf))).toMatchObject([{ rights: null }, { rights: null }]);
    expect(await list(Kind.SECRET)).toMatchObject([
      { keyId, last4: key.slice(-4) },
      { keyId, last4: old.slice(-4), endsAt: oldKeyEndsAt },
    ]);
    const again = keys.rollApiKey({ ...scope, keyId, oldKeySeconds: 3_600n });
    expect(await codeOf(again)).toBe("roll_in_progress");
    expect(await codeOf(keys.revokeApiKey({ ...scope, keyId }))).toBe("not_found");
    await keys.revokeApiKey({ ...scope, keyId, replacedOnly: true });
    expect(await Promise.all([old, key].map(holderOf))).toMatchObject([undefined, { rights: null }]);
    const next = await keys.rollApiKey({ ...scope, keyId, oldKeySeconds: 604_800n });
    await keys.regenerateApiKey({ ...scope, kind: Kind.SECRET });
    expect(await Promise.all([key, next.key].map(holderOf))).toEqual([undefined, undefined]);
    expect(await auditOf("RollApiKey")).toMatchObject([{ subject: keyId }, { subject: keyId }]);
  });

  it.each([3_599n, 604_801n])(
    "lets the old key work for an hour to seven days, not for %s s",
    async (oldKeySeconds) => {
      const [{ keyId } = { keyId: "" }] = await list(Kind.SECRET);
      expect(await codeOf(keys.rollApiKey({ ...scope, keyId, oldKeySeconds }))).toBe("invalid_field");
    },
  );
});
