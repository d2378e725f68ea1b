/** Pages that attack the card frame: each is refused by the frame, the vault's script or the browser. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext, Frame, Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { signFramePolicy } from "../../platform/service-token-signing.ts";
import { keyPair, startVaultFixture, testCard } from "../../vault/vault.fixture.ts";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { testsTaken } from "../testing/long-only.ts";
import { MerchantPages } from "./merchant-pages.ts";

let context: BrowserContext;
let page: Page;
let consoleLines: string[];

/** Greets every frame of a window repeatedly, with ports on which it receives the frames' messages. */
const greetAll = (target: string) => `
  globalThis.heard = [];
  setInterval(() => {
    for (let index = 0; index < ${target}.length; index++) {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => heard.push(data);
      const init = { type: "switchyard-card-frame", locale: "en", theme: "dark", variables: {} };
      ${target}[index].postMessage(init, "*", [port2]);
    }
  }, 20);
`;

const fixture = await forFile(startVaultFixture);
const vaultOrigin = fixture.vault.origins.public.replace("127.0.0.1", "localhost");
const [shop, attacker, browser] = await Promise.all([
  forFile(() => MerchantPages.start()),
  forFile(() => MerchantPages.start()),
  forFile(launchBrowser),
]);
beforeEach(async () => {
  consoleLines = [];
  context = await browser.newContext();
  page = await context.newPage();
  page.on("console", (message) => consoleLines.push(message.text()));
  shop.pages.set("/", { body: `<!doctype html><title>Shop</title><div id="card"></div>` });
  attacker.pages.set("/frame", { body: "<!doctype html><title>Not the vault</title><script src=/listen.js></script>" });
  attacker.pages.set("/listen.js", {
    body: "globalThis.heard = []; onmessage = ({ data, ports }) => heard.push(data, ports.length);",
  });
});
afterEach(() => context.close());

/** Opens the shop's checkout, which contains the card frame and the page's other content. */
async function openShop(policy: string, onPage: Page | Frame = page): Promise<void> {
  await onPage.addScriptTag({ url: `${vaultOrigin}/sdk.js` });
  await onPage.evaluate(
    (options) => {
      const container = document.querySelector<HTMLElement>("#card")!;
      Object.assign(globalThis, { frame: globalThis.SwitchyardVault!.mountCardFrame({ ...options, container }) });
    },
    { sdkUrl: `${vaultOrigin}/sdk.js`, framePolicy: policy, appearance: { theme: "light" } },
  );
}

const ready = () => page.evaluate("frame.ready");
const cardFrame = () => page.frames().find((frame) => frame.url().startsWith(`${vaultOrigin}/frame`))!;

/** Embeds the card frame in the shop's page without a greeting; any origin may embed it and greet it. */
async function embedUngreeted(): Promise<void> {
  // Test's policy for merchants without a registered page: only the window distinguishes them.
  const address = `${vaultOrigin}/frame?p=${fixture.policy([])}`;
  await page.evaluate((src) => {
    const frame = document.createElement("iframe");
    document.querySelector("#card")!.append(frame);
    frame.src = src;
    return new Promise((resolve) => frame.addEventListener("load", resolve));
  }, address);
}

/** Returns the form's theme after the next greeting: the frame's own listener was registered before. */
function themeAfterGreeting(): Promise<string> {
  return cardFrame().evaluate(
    () =>
      new Promise<string>((resolve) => {
        addEventListener("message", () => resolve(document.documentElement.dataset.theme ?? "undressed"));
      }),
  );
}

async function addAdvertisement(script: string): Promise<Frame> {
  attacker.pages.set("/ad.js", { body: script });
  attacker.pages.set("/ad", { body: "<!doctype html><script src=/ad.js></script>" });
  await page.evaluate((address) => {
    const advertisement = document.createElement("iframe");
    advertisement.src = address;
    document.body.append(advertisement);
    return new Promise((resolve) => advertisement.addEventListener("load", resolve));
  }, `${attacker.origin}/ad`);
  return page.frames().find((frame) => frame.url().endsWith("/ad"))!;
}

describe("a frame of another origin beside the card frame", () => {
  it("is not listened to, though it greets first: the form answers only its own page", async () => {
    await page.goto(shop.origin);
    const advertisement = await addAdvertisement(greetAll("parent"));
    await embedUngreeted();
    expect(await themeAfterGreeting()).toBe("undressed");
    await page.evaluate(greetAll("window"));
    await expect.poll(() => page.evaluate("heard")).toContainEqual(expect.objectContaining({ type: "ready" }));
    expect(await advertisement.evaluate("heard")).toEqual([]);
  });

  it("cannot speak for the card frame to the page", async () => {
    await page.goto(shop.origin);
    const advertisement = await addAdvertisement("");
    await openShop(fixture.policy([shop.origin]));
    await ready();
    const answer = Promise.withResolvers<void>();
    await page.route(`${vaultOrigin}/tokens`, async (route) => {
      await answer.promise;
      await route.continue();
    });
    await cardFrame().locator("#number").fill(testCard.number);
    await cardFrame().locator("#expiry").fill("04/31");
    await cardFrame().locator("#cvc").fill("123");
    await page.evaluate(
      `globalThis.tokenized = frame.tokenize(${JSON.stringify(fixture.grant("ps_spoken"))}); undefined`,
    );
    const arrived = page.evaluate(
      () => new Promise((resolve) => addEventListener("message", ({ data }) => resolve(data), { once: true })),
    );
    await advertisement.evaluate(() => {
      parent.postMessage({ type: "tokenized", request: 1, token: "tok_forged", brand: "visa", last4: "4242" }, "*");
    });
    expect(await arrived).toMatchObject({ token: "tok_forged" });
    answer.resolve();
    expect(await page.evaluate("tokenized.then(({ token }) => token)")).toMatch(/^tok_[\w-]{32,}$/);
  });
});

describe("a window of another origin", () => {
  it("that opened the shop is not listened to", async () => {
    attacker.pages.set("/opener", { body: "<!doctype html><title>Opener</title>" });
    const opener = await context.newPage();
    await opener.goto(`${attacker.origin}/opener`);
    const opened = context.waitForEvent("page");
    await opener.evaluate(`globalThis.shop = window.open(${JSON.stringify(shop.origin)}); ${greetAll("shop")}`);
    page = await opened;
    await page.waitForLoadState();
    await embedUngreeted();
    expect(await themeAfterGreeting()).toBe("undressed");
    expect(await opener.evaluate("heard")).toEqual([]);
  });

  it("that embeds the shop's own checkout gets no card form in it", async () => {
    attacker.pages.set("/", {
      body: `<!doctype html><title>Shop, honestly</title><iframe src="${shop.origin}" width="600" height="600"></iframe>`,
    });
    await page.goto(attacker.origin);
    const embedded = page.frames().find((frame) => frame.url().startsWith(shop.origin))!;
    const blocked = page.waitForEvent("console", (message) => message.text().includes("frame-ancestors"));
    await openShop(fixture.policy([shop.origin]), embedded);
    await blocked;
    expect(await formsOn(page)).toBe(0);
  });
});

async function formsOn(open: Page): Promise<number> {
  const counts = await Promise.all(
    open.frames().map((frame) =>
      frame
        .locator("#number")
        .count()
        .catch(() => 0),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

describe("a frame policy", () => {
  const stranger = keyPair("test").signing;
  const soon = () => new Date(Date.now() + 60_000);
  // The vault's own answers to each are in public-http.db.test.ts.
  const unusable = [
    ["of another page", () => fixture.policy(["https://shop.example"])],
    ["that is over", () => fixture.policy([shop.origin], { expiresAt: new Date(Date.now() - 60_000) })],
    [
      "that the page signed itself",
      () =>
        signFramePolicy(stranger, { origins: [shop.origin], serviceOrigin: "https://pay.example", expiresAt: soon() }),
    ],
    ["that is a session's grant", () => fixture.grant("ps_1")],
    ["of live without a registered page", () => fixture.policy([], { environment: "live" })],
    ["that is missing", () => ""],
  ] as const;
  it.each(unusable.slice(0, testsTaken.all ? undefined : 2))("%s shows no card form", async (_, policyOf) => {
    await page.goto(shop.origin);
    const blocked = page.waitForEvent("console", (message) => message.text().includes("frame-ancestors"));
    await openShop(policyOf());
    await blocked;
    expect(await formsOn(page)).toBe(0);
  });
});

describe("a grant", () => {
  it("of another page's session gets no card, though a policy lets this page embed the form", async () => {
    await page.goto(shop.origin);
    await openShop(fixture.policy([shop.origin]));
    await ready();
    await cardFrame().locator("#number").fill(testCard.number);
    await cardFrame().locator("#expiry").fill("04/31");
    await cardFrame().locator("#cvc").fill("123");
    const tokenize = (grant: string) =>
      page.evaluate(`frame.tokenize(${JSON.stringify(grant)}).then(() => "token", ({ code }) => code)`);
    const [stolen, own] = [[attacker.origin], [attacker.origin, shop.origin]];
    expect(await tokenize(fixture.grant("ps_1", { origins: stolen }))).toBe("origin_not_allowed");
    expect(await tokenize(fixture.grant("ps_1", { origins: own }))).toBe("token");
  });
});

describe("the vault's script", () => {
  it("greets only the vault: a frame that has become another origin's receives nothing", async () => {
    const elsewhere: Server = createServer((_, response) => {
      response.writeHead(302, { location: `${attacker.origin}/frame` }).end();
    }).listen(0, "localhost");
    await once(elsewhere, "listening");
    await page.goto(shop.origin);
    const refused = page.waitForEvent("console", (message) => message.text().includes("target origin"));
    await page.addScriptTag({ url: `${vaultOrigin}/sdk.js` });
    await page.evaluate(
      (sdkUrl) => {
        const container = document.querySelector<HTMLElement>("#card")!;
        globalThis.SwitchyardVault!.mountCardFrame({ sdkUrl, framePolicy: "x", container });
      },
      `http://localhost:${(elsewhere.address() as AddressInfo).port}/sdk.js`,
    );
    await refused;
    const impostor = page.frames().find((frame) => frame.url() === `${attacker.origin}/frame`)!;
    expect(await impostor.evaluate("heard")).toEqual([]);
    elsewhere.close();
    expect(consoleLines.join()).not.toContain("switchyard-card-frame");
  });
});
