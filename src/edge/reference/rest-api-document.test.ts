import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, it } from "vitest";
import { commentOf, describedServices } from "../../dev/testing/transcoder/commented-protos.ts";
import { eventTypes } from "../../events/outbox.ts";
import { version } from "../../version.ts";
import { restApiDocument, restServices } from "./rest-api-document.ts";

const services = describedServices(
  "proto/payments/v1",
  restServices.map(({ typeName }) => typeName),
);
const text: string = `${JSON.stringify(restApiDocument(services, commentOf, version), null, 2)}\n`;

describe("restApiDocument()", () => {
  it("equals docs/openapi.json; `npx vitest run rest-api-document -u` updates it", async () => {
    await expect(text).toMatchFileSnapshot("../../../docs/openapi.json");
  });

  it("names its groups in words, creates before it lists, and has a webhook for each type of event", () => {
    const { tags, paths, webhooks } = JSON.parse(text);
    expect(tags.map(({ name }: { name: string }) => name)).toEqual([
      "Payment sessions",
      "Refunds",
      "Disputes",
      "Stored cards",
      "Agreements",
      "Ledger",
      "Payouts and settlement",
      "Events",
      "Service",
      "Webhooks",
    ]);
    expect(Object.keys(paths["/api/v1/payment-sessions"])).toEqual(["post", "get"]);
    expect(Object.keys(webhooks).toSorted()).toEqual([...eventTypes, "webhook_endpoint.test"].toSorted());
  });

  it("passes every recommended rule of the linter", async () => {
    const config = await createConfig({ extends: ["recommended-strict"] });
    const problems = await lintFromString({ source: text, absoluteRef: "openapi.json", config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });
});
