import { describe, expect, it } from "vitest";
import { appearances } from "../error-mapping.ts";
import { errorsPage } from "./errors-page.ts";

describe("errorsPage()", () => {
  it("equals docs/errors.md; `npx vitest run errors-page -u` updates it", async () => {
    await expect(errorsPage()).toMatchFileSnapshot("../../../docs/errors.md");
  });

  it("has one section for each code, which begins with its status and title", () => {
    const sections = errorsPage().split(/^### /m).slice(1);
    const codes = sections.map((section) => section.split("\n")[0]!);
    expect(codes.toSorted()).toEqual(Object.keys(appearances).toSorted());
    for (const [code, { status, title }] of Object.entries(appearances)) {
      expect(sections[codes.indexOf(code)]).toMatch(new RegExp(`^${code}\n\n${status} · [A-Z_]+ · ${title}\n\n.`));
    }
  });
});
