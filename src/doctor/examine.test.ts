import { expect, it } from "vitest";
import { examine } from "./examine.ts";

it("examine() does not throw if settings cannot even be read, and repeats none of them", async () => {
  const variables = {
    get SWITCHYARD_ENVIRONMENTS(): string {
      throw new TypeError("postgres://live:q8Zr/1mVtKx0wLfB7@db/live");
    },
  };
  const findings = await examine({ roles: ["edge"], variables });
  expect(findings[0]).toMatchObject({ state: "PROBLEM", says: "the settings of edge cannot be read (TypeError)" });
  expect(JSON.stringify(findings)).not.toContain("q8Zr");
});
