/** The widget at its unchanging address, on a page that accepts only the bytes of the published list. */
import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { IntegrityList } from "../../../widget/publish.ts";
import { version } from "../../version.ts";
import { forFile } from "../testing/for-file.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";

let fixture: WidgetFixture;
let list: IntegrityList;

const stage = await forFile(() => WidgetStage.build());
beforeEach(async () => {
  fixture = await WidgetFixture.open(stage);
  const answer = await fetch(`${fixture.service.origin}/widget/v${version}/integrity.json`);
  list = (await answer.json()) as IntegrityList;
});
afterEach(() => fixture?.close());

/** Puts a page there whose scripts and later parts must have these digests. */
function requireDigests(files: IntegrityList["files"]): void {
  const folder = fixture.service.origin + list.path;
  const parts = Object.fromEntries(Object.entries(files).map(([name, digest]) => [folder + name, digest]));
  const map = JSON.stringify({ integrity: parts });
  fixture.scriptSources = `'sha256-${createHash("sha256").update(map).digest("base64")}'`;
  const widget = `<script src="${folder}widget.js" integrity="${files["widget.js"]}" crossorigin="anonymous"></script>`;
  const importMap = `<script type="importmap">${map}</script>`;
  fixture.merchantFiles.set("/", fixture.pageWith(`${importMap}${widget}<script src="/mount.js"></script>`));
}

describe("integrity.json", () => {
  it("has the digests with which a page pays", async () => {
    fixture.service.onSubmit = () => fixture.service.succeed();
    requireDigests(list.files);
    await fixture.goToCheckout();
    await fixture.enterCard();
    await fixture.payButton.click();
    await fixture.called("onSuccess");
  });

  it("lets a page refuse another script, and another later part", async () => {
    const wrong = `sha384-${"A".repeat(64)}`;
    const refused = () => fixture.page.waitForEvent("console", (message) => message.text().includes("integrity"));
    const later = Object.keys(list.files).find((name) => name.startsWith("session-api-"))!;
    for (const name of ["widget.js", later]) {
      requireDigests({ ...list.files, [name]: wrong });
      await Promise.all([refused(), fixture.page.goto(fixture.merchantOrigin)]);
    }
    expect(fixture.calls).toEqual([]);
    expect(fixture.service.looks).toBe(0);
  });
});
