/** The widget in a real page of a real browser, with the real vault, in front of a CheckoutService that the test decides. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, FrameLocator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bundleWidget, type WidgetFile } from "../../widget/bundle.ts";
import { launchBrowser } from "../testing/browser.ts";
import { CheckoutStandIn, standInClientSecret, standInSession } from "../testing/checkout-stand-in.ts";
import { startVaultFixture, testCard, type VaultFixture } from "../vault/vault-fixture.ts";

let files: Map<string, WidgetFile>;
let vault: VaultFixture;
let vaultOrigin: string;
let browser: Browser;
let service: CheckoutStandIn;
let merchant: Server;
let context: BrowserContext;
let page: Page;
let mountOptions: object;

/** What the merchant's page was told, over all reloads. */
let calls: [string, unknown][];

/** The merchant's page hands on what its callbacks are told. */
const mountScript = `
  const session = JSON.parse(document.getElementById("session").textContent);
  const callback = (name) => (result) => tell(name, result);
  const mount = () => Switchyard.mount({
    container: "#card", ...session,
    onSuccess: callback("onSuccess"), onDeclined: callback("onDeclined"),
    onReady: callback("onReady"), onError: callback("onError"),
  });
  let widget = mount();
`;

const serveWidget: RequestListener = (request, response) => {
  const file = files.get(request.url?.replace("/widget/v1/", "") ?? "");
  if (file) response.writeHead(200, { "Content-Type": file.contentType }).end(file.bytes);
  else response.writeHead(404).end();
};

const serveMerchant: RequestListener = (request, response) => {
  const policy = `default-src 'none'; script-src 'self' ${service.origin} ${vaultOrigin}; connect-src ${service.origin}; frame-src ${vaultOrigin}`;
  if (request.url === "/mount.js") {
    response.writeHead(200, { "Content-Type": "text/javascript" }).end(mountScript);
  } else {
    response.writeHead(200, { "Content-Type": "text/html", "Content-Security-Policy": policy });
    response.end(`<!doctype html><html lang="en"><title>Shop</title><div id="card"></div>
      <script type="application/json" id="session">${JSON.stringify(mountOptions)}</script>
      <script src="${service.origin}/widget/v1/widget.js"></script><script src="/mount.js"></script></html>`);
  }
};

beforeAll(async () => {
  [files, vault, browser] = await Promise.all([bundleWidget(), startVaultFixture(), launchBrowser()]);
  // Another site than the page's, as in production.
  vaultOrigin = vault.vault.origins.public.replace("127.0.0.1", "localhost");
});

afterAll(async () => {
  await browser?.close();
  await vault?.close();
});

beforeEach(async () => {
  service = await CheckoutStandIn.start({ vaultOrigin, fallback: serveWidget });
  merchant = createServer(serveMerchant).listen(0, "127.0.0.1");
  await once(merchant, "listening");
  mountOptions = {
    apiBase: service.origin,
    sessionId: standInSession,
    clientSecret: standInClientSecret,
    vault: {
      mode: "self_hosted",
      sdkUrl: `${vaultOrigin}/sdk.js`,
      sdkAuthorization: await vault.grant(standInSession),
      framePolicy: await vault.policy([merchantOrigin()]),
    },
  };
  context = await browser.newContext();
  page = await context.newPage();
  calls = [];
  await page.exposeFunction("tell", (name: string, result: unknown) => calls.push([name, result]));
});

afterEach(async () => {
  await context.close();
  merchant.closeAllConnections();
  merchant.close();
  await service.close();
});

const merchantOrigin = () => `http://127.0.0.1:${(merchant.address() as AddressInfo).port}`;
const frame = (): FrameLocator => page.frameLocator("#card iframe");
const payButton = () => page.getByRole("button");
const callOf = (name: string) =>
  expect.poll(() => calls.map(([called]) => called), { timeout: 10_000 }).toContain(name);

async function open(): Promise<void> {
  await page.goto(merchantOrigin());
  await callOf("onReady");
}

async function enterCard(number = testCard.number): Promise<void> {
  await frame().getByLabel("Card number").fill(number);
  await frame().locator("#expiry").fill("04/31");
  await frame().locator("#cvc").fill("123");
}

describe("Switchyard.mount() in a page", () => {
  it("pays once for twenty clicks and Enter, and tells it once", async () => {
    service.onSubmit = () => service.succeed();
    await open();
    expect(await payButton().textContent()).toBe("Pay €49.00");
    await enterCard();
    await payButton().evaluate((button: HTMLElement) => {
      for (let clicks = 0; clicks < 20; clicks++) button.click();
    });
    await frame()
      .locator("#cvc")
      .press("Enter")
      .catch(() => undefined);
    await callOf("onSuccess");
    expect(service.submitted).toHaveLength(1);
    expect(service.submitted[0]).toMatch(/^tok_/);
    expect(calls).toEqual([
      ["onReady", undefined],
      ["onSuccess", { capturedVia: "SANDBOX_B", failoverUsed: true }],
    ]);
    expect(await payButton().isDisabled()).toBe(true);
  });

  it("pays by Enter in the card form", async () => {
    service.onSubmit = () => service.succeed();
    await open();
    await enterCard();
    await frame().locator("#cvc").press("Enter");
    await callOf("onSuccess");
    expect(service.submitted).toHaveLength(1);
  });

  it("follows a payment through a reload, without a second submit", async () => {
    await open();
    await enterCard();
    await payButton().click();
    await expect.poll(() => service.submitted.length).toBe(1);
    await page.reload();
    await page.getByText("Processing your payment").waitFor();
    service.succeed();
    await callOf("onSuccess");
    expect(service.submitted).toHaveLength(1);
  });

  it("announces one loading state from the click to the outcome", async () => {
    await open();
    await page.evaluate(() => {
      const status = document.querySelector("#card > div")!.shadowRoot!.querySelector("[role=status]")!;
      const announced: string[] = [];
      Object.assign(window, { announced });
      new MutationObserver(() => announced.push(status.textContent ?? "")).observe(status, { childList: true });
    });
    await enterCard();
    await payButton().click();
    await expect.poll(() => service.looks, { timeout: 10_000 }).toBeGreaterThan(1);
    service.succeed();
    await callOf("onSuccess");
    expect(await page.evaluate("announced")).toEqual(["Processing your payment…", "Payment complete."]);
  });

  it("says why a card was declined, and takes another card with a fresh session", async () => {
    service.onSubmit = () => service.decline("insufficient_funds");
    await open();
    await enterCard();
    await payButton().click();
    await callOf("onDeclined");
    await page.getByRole("alert").getByText("not enough money").waitFor();

    service.reopen();
    service.onSubmit = () => service.succeed();
    await page.evaluate("widget.update(JSON.parse(document.getElementById('session').textContent))");
    expect(await page.getByRole("alert").textContent()).toBe("");
    await enterCard();
    await payButton().click();
    await callOf("onSuccess");
    expect(service.submitted).toHaveLength(2);
  });

  it("submits nothing while the card form is incomplete", async () => {
    await open();
    await payButton().click();
    await callOf("onError");
    expect(calls).toContainEqual(["onError", expect.objectContaining({ code: "invalid_card" })]);
    expect(service.submitted).toEqual([]);
    expect(await payButton().getAttribute("aria-disabled")).toBe("false");
  });

  it("speaks the page's language, from right to left where it is written so", async () => {
    mountOptions = { ...mountOptions, locale: "ar" };
    await open();
    await page.getByRole("button", { name: "ادفع" }).waitFor();
    expect(await page.locator("#card > div").getAttribute("dir")).toBe("rtl");
  });

  it("leaves the client secret and the grant out of addresses, storage and console", async () => {
    const seen: string[] = [];
    page.on("request", (request) => seen.push(request.url(), request.headers().referer ?? ""));
    page.on("console", (message) => seen.push(message.text()));
    service.onSubmit = () => service.succeed();
    await open();
    await enterCard();
    await payButton().click();
    await callOf("onSuccess");
    seen.push(await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])"));
    const { vault: options } = mountOptions as { vault: { sdkAuthorization: string } };
    for (const secret of [standInClientSecret, options.sdkAuthorization, testCard.number]) {
      expect(seen.filter((text) => text.includes(secret))).toEqual([]);
    }
  });

  it("throws on wrong options before any request leaves the page", async () => {
    await open();
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    const complaints = await page.evaluate(() => {
      const right = JSON.parse(document.getElementById("session")!.textContent!);
      const callbacks = { onSuccess: () => undefined, onDeclined: () => undefined };
      document.body.append(document.createElement("p"), document.createElement("p"));
      const { Switchyard } = globalThis as unknown as { Switchyard: { mount(options: object): void } };
      return ["#none", "p", "#card", "##"].map((container) => {
        try {
          Switchyard.mount({ ...right, ...callbacks, container });
          return "mounted";
        } catch (error) {
          return (error as Error).message;
        }
      });
    });
    expect(complaints).toEqual([
      "Switchyard.mount: container matches no element of this page (yet).",
      "Switchyard.mount: container matches more than one element.",
      "Switchyard.mount: container already holds a widget; unmount that one first.",
      "Switchyard.mount: container is not a valid selector.",
    ]);
    expect(requests).toEqual([]);
  });

  it("leaves nothing behind when it is unmounted, and mounts again", async () => {
    await open();
    await page.evaluate("widget.unmount()");
    expect(await page.locator("#card").innerHTML()).toBe("");
    await page.evaluate("widget = mount()");
    await expect
      .poll(() => calls, { timeout: 10_000 })
      .toEqual([
        ["onReady", undefined],
        ["onReady", undefined],
      ]);
  });
});
