import { describe, expect, it } from "vitest";
import { cardsPage } from "./cards-page.ts";

describe("cardsPage()", () => {
  it("is what docs/test-cards.md shows; `npx vitest run cards-page -u` renews it", async () => {
    await expect(cardsPage()).toMatchFileSnapshot("../../docs/test-cards.md");
  });
});
