import { createConfig, lintFromString } from "@redocly/openapi-core";
import { beforeAll, describe, expect, it } from "vitest";
import { commentOf, describedServices } from "../../transcoder/testing/commented-protos.ts";
import { version } from "../../version.ts";
import { restApiDocument, restServices } from "./rest-api-document.ts";

let text: string;
beforeAll(() => {
  const services = describedServices(
    "proto/payments/v1",
    restServices.map(({ typeName }) => typeName),
  );
  text = `${JSON.stringify(restApiDocument(services, commentOf, version), null, 2)}\n`;
});

describe("restApiDocument()", () => {
  it("is what docs/openapi.json holds; `npx vitest run rest-api-document -u` renews it", async () => {
    await expect(text).toMatchFileSnapshot("../../../docs/openapi.json");
  });

  it("passes every recommended rule of the linter", async () => {
    const config = await createConfig({ extends: ["recommended-strict"] });
    const problems = await lintFromString({ source: text, absoluteRef: "openapi.json", config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });
});
