import { ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { RepeatedOrders } from "../../gen/dashboard/v1/settings_pb.ts";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { findKeyHolder } from "../accounts/api-keys.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { sha256 } from "../platform/secrets.ts";
import { hashOfErased } from "../retention/erase-customer.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const pages = new Pages(() => dashboard);
const dashboard = await forFile(() => startDashboardFixture({ members: true }));
await dashboard.addMember("Dora", "DEVELOPER");
await dashboard.addMember("Olga", "OWNER");
await dashboard.addMember("Vera", "VIEWER");
const cookie = await pages.enter("Dora");

const scope = () => ({ merchantId: dashboard.merchantId, environment: Environment.TEST });
const load = async () => (await pages.settings(cookie).getSettings(scope())).settings!;

describe("the settings of a merchant", () => {
  it("are changed by the first of two concurrent writers; the second gets a conflict", async () => {
    const { revision, sessionLifetimeSeconds } = await load();
    expect(sessionLifetimeSeconds).toBe(1_800);
    const set = (checkoutOrigins: string[]) =>
      pages.settings(cookie).setCheckoutOrigins({ ...scope(), checkoutOrigins, revision });
    const { settings } = await set(["https://first.example"]);
    expect(await codeOf(set(["https://second.example"]))).toBe("state_conflict");
    const late = pages.settings(cookie).setSessionLifetime({ ...scope(), sessionLifetimeSeconds: 900, revision });
    expect(await codeOf(late)).toBe("state_conflict");
    expect(await load()).toEqual(settings);
    expect(settings?.checkoutOrigins).toEqual(["https://first.example"]);
  });

  it("set the lifetime of new sessions: five minutes to a day", async () => {
    const set = (sessionLifetimeSeconds: number) =>
      pages.settings(cookie).setSessionLifetime({ ...scope(), sessionLifetimeSeconds });
    expect((await set(300)).settings?.sessionLifetimeSeconds).toBe(300);
    for (const seconds of [299, 86_401, -1]) expect(await codeOf(set(seconds))).toBe("invalid_field");
    const holder = await findKeyHolder(dashboard.database, sha256(dashboard.secretKey.expose()));
    expect(holder?.sessionLifetimeMs).toBe(300_000);
    const rows = await dashboard.rows("SELECT before, after FROM audit_entry WHERE action = 'SetSessionLifetime'");
    expect(rows).toEqual([{ before: { sessionLifetimeMs: 1_800_000 }, after: { sessionLifetimeMs: 300_000 } }]);
  });

  it("set the statement descriptor of new sessions, or none", async () => {
    const { revision } = await load();
    const set = (statementDescriptor: string, based = {}) =>
      pages.settings(cookie).setStatementDescriptor({ ...scope(), statementDescriptor, ...based });
    expect((await set("Acme Books", { revision })).settings?.statementDescriptor).toBe("Acme Books");
    expect(await codeOf(set("Acme Music", { revision }))).toBe("state_conflict");
    for (const text of ["Acme", "x".repeat(23), "Acme*Books", "123456", " Acme Books"])
      expect(await codeOf(set(text))).toBe("invalid_field");
    const holder = await findKeyHolder(dashboard.database, sha256(dashboard.secretKey.expose()));
    expect(holder?.statementDescriptor).toBe("Acme Books");
    expect((await set("")).settings?.statementDescriptor).toBe("");
    const rows = await dashboard.rows(
      "SELECT before, after FROM audit_entry WHERE action = 'SetStatementDescriptor' ORDER BY id",
    );
    expect(rows).toEqual([
      { before: { statementDescriptor: null }, after: { statementDescriptor: "Acme Books" } },
      { before: { statementDescriptor: "Acme Books" }, after: { statementDescriptor: null } },
    ]);
  });

  it("refuse a second payment of an order, by a developer who has signed in freshly", async () => {
    const { revision, repeatedOrders } = await load();
    expect(repeatedOrders).toBe(RepeatedOrders.WARN);
    const set = (wanted: RepeatedOrders, { by = cookie, based = {} } = {}) =>
      pages.settings(by).setRepeatedOrders({ ...scope(), repeatedOrders: wanted, ...based });
    const stale = await pages.enterStale("Dora");
    expect(await codeOf(set(RepeatedOrders.REFUSE, { by: stale }))).toBe("fresh_sign_in_required");
    expect(await codeOf(set(RepeatedOrders.REFUSE, { by: await pages.enter("Vera") }))).toBe("role_not_allowed");
    for (const wanted of [RepeatedOrders.UNSPECIFIED, 3 as RepeatedOrders])
      expect(await codeOf(set(wanted))).toMatch(/^(missing|invalid)_field$/);
    expect(await load()).toMatchObject({ revision, repeatedOrders: RepeatedOrders.WARN });

    const { settings } = await set(RepeatedOrders.REFUSE, { based: { revision } });
    expect(settings).toMatchObject({ repeatedOrders: RepeatedOrders.REFUSE });
    expect(await load()).toEqual(settings);
    expect(await codeOf(set(RepeatedOrders.WARN, { based: { revision } }))).toBe("state_conflict");
    // The same value again is not another beginning.
    const since = () => dashboard.rows("SELECT repeated_orders_at FROM merchant_settings");
    const [before] = await since();
    await set(RepeatedOrders.REFUSE, { based: { revision } });
    expect(await since()).toEqual([before]);
    await set(RepeatedOrders.WARN);
    const rows = await dashboard.rows(
      "SELECT actor, before, after FROM audit_entry WHERE action = 'SetRepeatedOrders' ORDER BY id",
    );
    const [warn, refuse] = [{ repeatedOrders: "WARN" }, { repeatedOrders: "REFUSE" }];
    expect(rows).toMatchObject([
      { before: warn, after: refuse },
      { before: refuse, after: refuse },
      { before: refuse, after: warn },
    ]);
  });

  it("report each invalid origin", async () => {
    const bad = ["https://bad.example/path", "nothing", "https://*.example", "https://bad.example;sandbox"];
    const checkoutOrigins = ["https://good.example", ...bad];
    const refusal = await pages
      .settings(cookie)
      .setCheckoutOrigins({ ...scope(), checkoutOrigins })
      .catch((error: unknown) => ConnectError.from(error));
    const [details] = (refusal as ConnectError).findDetails(BadRequestSchema);
    expect(details?.fieldViolations.map(({ field }) => field)).toEqual(
      bad.map((_, index) => `checkoutOrigins[${index + 1}]`),
    );
  });

  it("show what the operator has set for the whole installation", async () => {
    expect(await load()).toMatchObject({ attemptTimeoutMs: 10_000, submissionBudgetMs: 45_000 });
  });

  it("erase a customer's address from the merchant's sessions, and the audit trail keeps a hash of it", async () => {
    const owner = await pages.enter("Olga");
    const merchantId = decodeId("mer", dashboard.merchantId)!;
    const ids: string[] = [];
    const insert = (email: string | null, of: string, orderRef: string) => {
      const id = systemRuntime.uuid();
      ids.push(id);
      const text = `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, customer_email, secret_version, expires_at)
        VALUES ('${id}', '${of}', 100, 'EUR', '${orderRef}', ${email === null ? "NULL" : `'${email}'`}, 1, app.clock() + interval '1 hour')`;
      return dashboard.rows(text);
    };
    await insert("Carla@shop.example", merchantId, "one");
    await insert("carla@shop.example", merchantId, "carla@shop.example/2");
    await insert("other@shop.example", merchantId, "three");
    await insert("carla@shop.example", systemRuntime.uuid(), "of another merchant");
    // Its refund's reference is the merchant's own, as its order reference is. No capture is needed to be erased.
    await dashboard.rows(`SET session_replication_role = replica;
      UPDATE payment_session SET refunds = 1 WHERE id = '${ids[2]}';
      INSERT INTO refund (session_id, id, merchant_id, attempt_id, connection_id, gateway, amount_minor, currency, refund_ref)
      VALUES ('${ids[2]}', '${ids[2]}', '${merchantId}', '${ids[2]}', '${ids[2]}', 'SANDBOX_A', 1, 'EUR', 'return of Carla@shop.example');
      SET session_replication_role = origin`);
    const erased = await pages.settings(owner).eraseCustomer({ ...scope(), email: "CARLA@shop.example" });
    expect(erased).toMatchObject({ sessions: 2, orderReferences: 2, nextAfter: "" });
    const left = await dashboard.rows<{ email: string | null }>(
      `SELECT customer_email AS email FROM payment_session WHERE id IN ('${ids.join("','")}') ORDER BY id`,
    );
    expect(left.map(({ email }) => email)).toEqual([...[null, null, "other@shop.example", "carla@shop.example"]]);
    const customer = hashOfErased(dashboard.sealing, "carla@shop.example");
    const rows = await dashboard.rows("SELECT after, subject FROM audit_entry WHERE action = 'EraseCustomer'");
    expect(rows).toMatchObject([{ after: { customer, sessions: 2, orderReferences: 2 } }]);
    expect(JSON.stringify(rows).toLowerCase()).not.toContain("carla");
    const back = "UPDATE payment_session SET customer_email = 'x@y.example' WHERE customer_email IS NULL";
    await expect(dashboard.rows(back)).rejects.toThrow(/erased, never changed/);
  });

  it("erase a customer's name and billing address with the e-mail address, and leave the merchant's own data", async () => {
    const owner = await pages.enter("Olga");
    const merchantId = decodeId("mer", dashboard.merchantId)!;
    const insert = async (email: string, details: object) => {
      const id = systemRuntime.uuid();
      await dashboard.rows(`INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, customer_email, details, secret_version, expires_at)
        VALUES ('${id}', '${merchantId}', 100, 'EUR', 'o', ${email === "" ? "NULL" : `'${email}'`}, '${JSON.stringify(details)}', 1, app.clock() + interval '1 hour')`);
      return id;
    };
    const personal = { customerName: "Dan Brown", billingAddress: { line1: "1 Way" } };
    const kept = { metadata: { contact: "Dan@shop.example" }, statementDescriptor: "Acme Books" };
    const [whole, only, other] = [
      await insert("dan@shop.example", { ...personal, ...kept }),
      await insert("dan@shop.example", personal),
      await insert("other@shop.example", personal),
    ];
    const erased = await pages.settings(owner).eraseCustomer({ ...scope(), email: "dan@shop.example" });
    expect(erased).toMatchObject({ sessions: 2, orderReferences: 1 });
    const detailsOf = async (id: string) =>
      (await dashboard.rows<{ details: object }>(`SELECT details FROM payment_session WHERE id = '${id}'`))[0]?.details;
    expect(await detailsOf(whole!)).toEqual(kept);
    expect(await detailsOf(only!)).toBeNull();
    expect(await detailsOf(other!)).toEqual(personal);
    const nameless = await insert("", { ...personal, ...kept });
    const of = (sessionId: string) => pages.settings(owner).eraseCustomer({ ...scope(), sessionId });
    expect(await of(encodeId("ps", nameless))).toMatchObject({ sessions: 1, orderReferences: 0, nextAfter: "" });
    expect(await detailsOf(nameless)).toEqual(kept);
    await expect(of(encodeId("ps", systemRuntime.uuid()))).rejects.toThrow(/no such session/);
    await expect(of("ps_1")).rejects.toThrow(/No session has this id/);
    for (const fields of [{}, { email: "dan@shop.example", sessionId: encodeId("ps", nameless) }])
      await expect(pages.settings(owner).eraseCustomer({ ...scope(), ...fields })).rejects.toThrow(/either/);
    const change = (details: object) =>
      dashboard.rows(`UPDATE payment_session SET details = '${JSON.stringify(details)}' WHERE id = '${other}'`);
    for (const details of [
      { ...personal, customerName: "Another" },
      { customerName: "Dan Brown" },
      { ...personal, ...kept },
    ])
      await expect(change(details)).rejects.toThrow(/never changes/);
  });
});
