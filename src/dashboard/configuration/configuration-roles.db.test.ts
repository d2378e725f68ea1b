import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ConfigurationService } from "../../../gen/dashboard/v1/configuration_pb.ts";
import { codeOf, Pages } from "../../dev/testing/dashboard/pages.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { startDashboardFixture } from "../dashboard.fixture.ts";

const dashboard = await forFile(() => startDashboardFixture({ members: true, live: "besideTest" }));
const pages = new Pages(() => dashboard);
const [olive, dora] = [await pages.join("Olive", "OWNER"), await pages.join("Dora", "DEVELOPER")];
const stale = await pages.enterStale("Olive");

const { applyConfiguration, planConfiguration } = ConfigurationService.method;
const apply = (cookie: string, desired: JsonValue) =>
  pages.call(applyConfiguration, cookie, { ...dashboard.scope, desired, allowRemovals: true });

describe("a configuration", () => {
  it.each([
    ["alerts", { alerts: { mutedTopics: ["ALERT_TOPIC_UNVERIFIED"] } }],
    ["refund limits", { refundLimits: { developers: [{ currency: "EUR", amountMinor: "1" }] } }],
  ])("with other %s is for owners", async (_what, desired) => {
    expect(await codeOf(apply(dora, desired))).toBe("role_not_allowed");
    expect(await codeOf(apply(stale, desired))).toBe("fresh_sign_in_required");
    await apply(olive, desired);
    // Without a difference in it, the section is for developers too.
    await apply(dora, desired);
  });

  it("is planned from a file or from the other environment, and from nothing else", async () => {
    const plan = (request: Record<string, JsonValue>) =>
      pages.call(planConfiguration, dora, { ...dashboard.scope, ...request });
    for (const wrong of [{}, { desired: {}, fromEnvironment: "ENVIRONMENT_LIVE" }]) {
      expect(await codeOf(plan(wrong))).toBe("invalid_field");
    }
    expect(await codeOf(plan({ fromEnvironment: "ENVIRONMENT_TEST" }))).toBe("invalid_field");
    // Both environments are one database here.
    expect(await plan({ fromEnvironment: "ENVIRONMENT_LIVE" })).toMatchObject({ changes: [], unknownConnections: [] });
  });
});
