import { describe, expect, it } from "vitest";
import { declinesPage } from "./declines-page.ts";

describe("declinesPage()", () => {
  it("is what docs/declines.md shows; `npx vitest run declines-page -u` renews it", async () => {
    await expect(declinesPage()).toMatchFileSnapshot("../../docs/declines.md");
  });

  it("has no row that a reader would have to guess at, nor one that does not say of which year its source is", () => {
    for (const row of declinesPage()
      .split("\n")
      .filter((line) => /^\| `/.test(line))) {
      expect(row).toMatch(/^\| `[\w.-]+` \| [A-Z_]+ \| [a-z_]+ \| [a-z_]+ \| .*https:\/\/\S+.* \|$/);
      expect(row).toMatch(/https:\/\/\S+ \(20\d\d\)/);
    }
  });
});
