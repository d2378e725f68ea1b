/** The widget at its unchanging address, on a page that lets in only the bytes of the published list. */
import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { IntegrityList } from "../../widget/publish.ts";
import { version } from "../version.ts";
import { WidgetScene, WidgetStage } from "./widget-scene.ts";

let stage: WidgetStage;
let scene: WidgetScene;
let list: IntegrityList;

beforeAll(async () => {
  stage = await WidgetStage.build();
});
afterAll(() => stage?.close());
beforeEach(async () => {
  scene = await WidgetScene.open(stage);
  const answer = await fetch(`${scene.service.origin}/widget/v${version}/integrity.json`);
  list = (await answer.json()) as IntegrityList;
});
afterEach(() => scene?.close());

/** Puts a page there whose scripts and later parts must have these digests. */
function requireDigests(files: IntegrityList["files"]): void {
  const folder = scene.service.origin + list.path;
  const parts = Object.fromEntries(Object.entries(files).map(([name, digest]) => [folder + name, digest]));
  const map = JSON.stringify({ integrity: parts });
  scene.scriptSources = `'sha256-${createHash("sha256").update(map).digest("base64")}'`;
  const widget = `<script src="${folder}widget.js" integrity="${files["widget.js"]}" crossorigin="anonymous"></script>`;
  const importMap = `<script type="importmap">${map}</script>`;
  scene.merchantFiles.set("/", scene.pageWith(`${importMap}${widget}<script src="/mount.js"></script>`));
}

describe("integrity.json", () => {
  it("has the digests with which a page pays", async () => {
    scene.service.onSubmit = () => scene.service.succeed();
    requireDigests(list.files);
    await scene.goToCheckout();
    await scene.enterCard();
    await scene.payButton.click();
    await scene.told("onSuccess");
  });

  it("lets a page refuse another script, and another later part", async () => {
    const wrong = `sha384-${"A".repeat(64)}`;
    const refused = () => scene.page.waitForEvent("console", (message) => message.text().includes("integrity"));
    const later = Object.keys(list.files).find((name) => name.startsWith("session-api-"))!;
    for (const name of ["widget.js", later]) {
      requireDigests({ ...list.files, [name]: wrong });
      await Promise.all([refused(), scene.page.goto(scene.merchantOrigin)]);
    }
    expect(scene.calls).toEqual([]);
    expect(scene.service.looks).toBe(0);
  });
});
