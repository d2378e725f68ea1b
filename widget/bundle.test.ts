import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { measureOurs } from "../src/dev/bench/widget-sizes.ts";
import { CheckoutEmulator, emulatorClientSecret, emulatorSession } from "../src/dev/testing/checkout-emulator.ts";
import { bundleWidget, type WidgetFile } from "./bundle.ts";
import { publishWidget } from "./publish.ts";
import { translations } from "./translations.ts";

const files = await bundleWidget();
const folder = await mkdtemp(join(tmpdir(), "widget-"));

afterAll(() => rm(folder, { recursive: true }));

const find = (start: string) => [...files].find(([path]) => path.startsWith(start)) ?? ["", undefined];
async function load(start: string): Promise<object> {
  const [name, file] = find(start);
  await writeFile(join(folder, name), file!.bytes);
  return import(/* @vite-ignore */ pathToFileURL(join(folder, name)).href);
}
const gzipBytes = (start: string) => gzipSync(find(start)[1]!.bytes).length;

describe("bundleWidget()", () => {
  it("keeps the first load within 8.9 KB and the later chunks within 37, 4.5, 4 and 3 KB, gzipped", () => {
    expect(gzipBytes("widget.js")).toBeLessThanOrEqual(8_900);
    expect(gzipBytes("widget.mjs")).toBeLessThanOrEqual(8_900);
    expect(gzipBytes("session-api-")).toBeLessThanOrEqual(37_000);
    expect(gzipBytes("payment-part-")).toBeLessThanOrEqual(3_100);
    expect(gzipBytes("action-")).toBeLessThanOrEqual(3_000);
    expect(gzipBytes("cards-")).toBeLessThanOrEqual(4_000);
    expect(gzipBytes("wallets-")).toBeLessThanOrEqual(4_500);
    expect(gzipBytes("appearance-")).toBeLessThanOrEqual(900);
  });

  it("keeps the card frame within 14 KB, and a language within 1.5 KB here and 1 KB there, gzipped", async () => {
    const { cardFrame, largestTranslation, largestFrameTexts } = await measureOurs();
    expect(cardFrame).toBeLessThanOrEqual(14_000);
    expect(largestTranslation).toBeLessThanOrEqual(1_500);
    expect(largestFrameTexts).toBeLessThanOrEqual(1_000);
  });

  it("keeps the frames around the bank's page within 1 KB at the vault and 4 KB at the service, gzipped", async () => {
    const { relay, actionFrame } = await measureOurs();
    expect(relay).toBeLessThanOrEqual(1_000);
    expect(actionFrame).toBeLessThanOrEqual(4_000);
  });

  it("writes one file for each language, under a name that changes with its content", () => {
    for (const locale of translations) expect(find(`${locale}-`)[0]).toMatch(/^\w\w-[A-Z0-9]{8}\.mjs$/);
  });

  it("produces the same bytes in another folder and another process", { timeout: 60_000 }, async () => {
    const root = join(import.meta.dirname, "..");
    const copy = join(folder, "another", "place");
    const packages = ["@bufbuild", "@connectrpc", "esbuild", "@esbuild"].map((name) => `node_modules/${name}`);
    // Buf's own program is a hundred megabytes, and is not needed here.
    const filter = (path: string) => !/@bufbuild.buf\b/.test(path);
    for (const part of ["package.json", "widget", "gen", ...packages]) {
      await cp(join(root, part), join(copy, part), { recursive: true, filter });
    }
    const program = `import { bundleWidget } from "./widget/bundle.ts"; import { publishWidget } from "./widget/publish.ts";
      const list = publishWidget(await bundleWidget(), "1.2.3").get("/widget/v1.2.3/integrity.json");
      process.stdout.write(list.bytes);`;
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], { cwd: copy });
    const here = publishWidget(files, "1.2.3").get("/widget/v1.2.3/integrity.json");
    expect(stdout).toBe(new TextDecoder().decode(here?.bytes));
  });

  it("names its parts to the script tag, and the languages to the part that loads them", () => {
    const textOf = (file: WidgetFile | undefined) => new TextDecoder().decode(file?.bytes);
    const script = textOf(files.get("widget.js"));
    const parts = ["session-api", "payment-part", "action", "cards", "wallets", "translations", "appearance"];
    for (const start of parts) expect(script).toContain(find(`${start}-`)[0]);
    const part = textOf(find("translations-")[1]);
    for (const locale of translations) expect(part).toContain(find(`${locale}-`)[0]);
    // A module that two parts share would be one more file to load.
    expect(find("chunk-")[0]).toBe("");
  });

  it("produces an ES module that does nothing on import, even without a page", async () => {
    const before = Object.keys(globalThis);
    expect(Object.keys(await load("widget.mjs"))).toEqual(["mount"]);
    expect(Object.keys(globalThis)).toEqual(before);
  });

  it("keeps everything in the RPC chunk that its two calls need", async () => {
    const service = await CheckoutEmulator.start({ vaultOrigin: "https://vault.example" });
    try {
      const { connectSession } = (await load("session-api-")) as typeof import("./session-api.ts");
      const session = {
        sessionId: emulatorSession,
        clientSecret: emulatorClientSecret,
        apiBase: service.origin,
        place: { clientWidth: 320 },
        vault: { publishableKey: "pk" },
        locale: "en",
      };
      const api = connectSession({ ...session, closed: new AbortController().signal });
      service.decline("insufficient_funds");
      expect(await api.getCheckout()).toMatchObject({
        kind: "checkout",
        checkout: { amount: "€49.00", outcome: { kind: "declined", declineCode: "insufficient_funds" } },
      });
      const consent = { template: "save_card_1", locale: "de" };
      await api.submitPayment("tok_1", consent);
      expect(service.consents).toEqual([consent]);
      expect(service.browser).toMatchObject({
        colorDepth: 24,
        placeWidth: 320,
        timeZoneOffsetMinutes: new Date().getTimezoneOffset(),
        language: navigator.language,
      });
    } finally {
      await service.close();
    }
  });
});
