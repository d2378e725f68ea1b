import { ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { findKeyHolders } from "../accounts/api-keys.ts";
import { sha256 } from "../platform/secrets.ts";
import { type DashboardFixture, startDashboardFixture } from "./dashboard-fixture.ts";
import { codeOf, Pages } from "./testing/pages.ts";

let dashboard: DashboardFixture;
let cookie: string;
const pages = new Pages(() => dashboard);
beforeAll(async () => {
  dashboard = await startDashboardFixture({ members: true });
  await dashboard.addMember("Dora", "DEVELOPER");
  cookie = await pages.enter("Dora");
});
afterAll(() => dashboard?.close());

const scope = () => ({ merchantId: dashboard.merchantId, environment: Environment.TEST });
const load = async () => (await pages.settings(cookie).getSettings(scope())).settings!;

describe("the settings of a merchant", () => {
  it("are changed by the first of two people, and the second is told so", async () => {
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

  it("say for how long new sessions are open: five minutes to a day", async () => {
    const set = (sessionLifetimeSeconds: number) =>
      pages.settings(cookie).setSessionLifetime({ ...scope(), sessionLifetimeSeconds });
    expect((await set(300)).settings?.sessionLifetimeSeconds).toBe(300);
    for (const seconds of [299, 86_401, -1]) expect(await codeOf(set(seconds))).toBe("invalid_field");
    const hash = sha256(dashboard.secretKey.expose());
    const holders = await findKeyHolders(dashboard.database, [hash]);
    expect(holders.get(hash.toString("hex"))?.sessionLifetimeMs).toBe(300_000);
    const rows = await dashboard.rows("SELECT before, after FROM audit_entry WHERE action = 'SetSessionLifetime'");
    expect(rows).toEqual([{ before: { sessionLifetimeMs: 1_800_000 }, after: { sessionLifetimeMs: 300_000 } }]);
  });

  it("name each origin that is none", async () => {
    const checkoutOrigins = ["https://good.example", "https://bad.example/path", "nothing"];
    const refusal = await pages
      .settings(cookie)
      .setCheckoutOrigins({ ...scope(), checkoutOrigins })
      .catch((error: unknown) => ConnectError.from(error));
    const [details] = (refusal as ConnectError).findDetails(BadRequestSchema);
    expect(details?.fieldViolations.map(({ field }) => field)).toEqual(["checkoutOrigins[1]", "checkoutOrigins[2]"]);
  });

  it("tell what the operator has set for the whole installation", async () => {
    expect(await load()).toMatchObject({ attemptTimeoutMs: 10_000, submissionBudgetMs: 45_000 });
  });
});
