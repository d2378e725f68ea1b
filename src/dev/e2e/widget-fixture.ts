/** A merchant's page with the widget, the real vault, and a CheckoutService that the test decides. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, BrowserContextOptions, FrameLocator, Page } from "playwright-core";
import { expect } from "vitest";
import { bundleAuthenticationPages } from "../../../widget/authentication/bundle-pages.ts";
import { bundleWidget, type WidgetFile } from "../../../widget/bundle.ts";
import { publishWidget } from "../../../widget/publish.ts";
import { startVaultFixture, testCard, type VaultFixture } from "../../vault/vault.fixture.ts";
import { version } from "../../version.ts";
import { launchBrowser } from "../testing/browser.ts";
import { CheckoutEmulator, clientSecretOf, emulatorSession } from "../testing/checkout-emulator.ts";

// On a busy machine a page takes seconds.
const callbackWithinMs = 20_000;

export type MerchantFile = { readonly contentType: string; readonly body: string | Uint8Array };

const mountScript = `
  const session = JSON.parse(document.getElementById("session").textContent);
  const callback = (name) => (result) => report(name, result);
  const mount = () => Switchyard.mount({
    container: "#card", ...session,
    onSuccess: callback("onSuccess"), onDeclined: callback("onDeclined"),
    onReady: callback("onReady"), onError: callback("onError"), onPending: callback("onPending"),
  });
  let widget = mount();
`;

/** The objects that all tests of a file share: browser, vault and the widget's files. */
export class WidgetStage {
  readonly vault: VaultFixture;
  /** Another site than the merchant's page, as in production. */
  readonly vaultOrigin: string;
  readonly browser: Browser;
  readonly files: ReadonlyMap<string, WidgetFile>;
  readonly bank: EmulatedBank;

  private constructor(
    vault: VaultFixture,
    browser: Browser,
    files: ReadonlyMap<string, WidgetFile>,
    bank: EmulatedBank,
  ) {
    this.bank = bank;
    this.vault = vault;
    this.vaultOrigin = vault.vault.origins.public.replace("127.0.0.1", "localhost");
    this.browser = browser;
    this.files = files;
  }

  static async build(): Promise<WidgetStage> {
    const building = [bundleWidget(), startVaultFixture(), launchBrowser(), buildEmulatedBank()] as const;
    const [files, vault, browser, bank] = await Promise.all(building);
    return new WidgetStage(vault, browser, publishWidget(files, version), bank);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.vault.close();
  }
}

export class WidgetFixture {
  readonly stage: WidgetStage;
  readonly service: CheckoutEmulator;
  readonly context: BrowserContext;
  readonly page: Page;
  /** The options of the page's script beside its callbacks; a test may change it before it opens the page. */
  mountOptions: Record<string, unknown> = {};
  readonly calls: [string, unknown][] = [];
  /** The files by path; `/` and `/mount.js` exist unless a test replaces them. */
  readonly merchantFiles = new Map<string, MerchantFile>();
  scriptSources = "";
  changePolicy = (policy: string): string => policy;
  readonly #merchant: Server;

  private constructor(stage: WidgetStage, service: CheckoutEmulator, context: BrowserContext, page: Page) {
    this.stage = stage;
    this.service = service;
    this.context = context;
    this.page = page;
    this.#merchant = createServer((request, response) => this.#serveMerchant(request.url ?? "/", response));
  }

  static async open(stage: WidgetStage, options: BrowserContextOptions = {}): Promise<WidgetFixture> {
    const serveWidget: RequestListener = (request, response) => {
      const file = stage.files.get(new URL(request.url ?? "", "http://any").pathname);
      if (file) response.writeHead(200, { "Content-Type": file.contentType }).end(file.bytes);
      else if (!stage.bank(request, response)) response.writeHead(404).end();
    };
    const service = await CheckoutEmulator.start({ vaultOrigin: stage.vaultOrigin, fallback: serveWidget });
    const context = await stage.browser.newContext(options);
    const page = await context.newPage();
    const fixture = new WidgetFixture(stage, service, context, page);
    fixture.#merchant.listen(0, "127.0.0.1");
    await once(fixture.#merchant, "listening");
    fixture.mountOptions = await fixture.sessionOptions(emulatorSession);
    await page.exposeFunction("report", (name: string, result: unknown) => void fixture.calls.push([name, result]));
    return fixture;
  }

  async close(): Promise<void> {
    await this.context.close();
    this.#merchant.closeAllConnections();
    this.#merchant.close();
    await this.service.close();
  }

  get merchantOrigin(): string {
    return `http://127.0.0.1:${(this.#merchant.address() as AddressInfo).port}`;
  }

  get frame(): FrameLocator {
    return this.page.frameLocator("iframe");
  }

  get bank(): FrameLocator {
    return this.page.frameLocator("#card .action iframe").frameLocator("iframe").frameLocator("iframe");
  }

  get payButton() {
    return this.page.getByRole("button");
  }

  get callNames(): string[] {
    return this.calls.map(([name]) => name);
  }

  async called(name: string): Promise<void> {
    await expect.poll(() => this.callNames, { timeout: callbackWithinMs }).toContain(name);
  }

  /** Opens the merchant's page and waits until the customer can pay. */
  async goToCheckout(): Promise<void> {
    await this.page.goto(this.merchantOrigin);
    await this.called("onReady");
  }

  /** Returns the create answer's options of a session, with the service's address. */
  async sessionOptions(sessionId: string): Promise<Record<string, unknown>> {
    const { vault, vaultOrigin } = this.stage;
    return {
      apiBase: this.service.origin,
      sessionId,
      clientSecret: clientSecretOf(sessionId),
      vault: {
        mode: "self_hosted",
        sdkUrl: `${vaultOrigin}/sdk.js`,
        sdkAuthorization: await vault.grant(sessionId),
        framePolicy: await vault.policy([this.merchantOrigin], { serviceOrigin: this.service.origin }),
      },
    };
  }

  offerStoredCards(): void {
    const { vault } = this.mountOptions as { vault: object };
    this.mountOptions = { ...this.mountOptions, vault: { ...vault, storedCards: true } };
    const page = this.merchantFiles.get("/");
    if (page)
      this.merchantFiles.set("/", { ...page, body: `${page.body}`.replace('"vault":{', '$&"storedCards":true,') });
  }

  async update({ sessionId, clientSecret, vault }: Record<string, unknown>): Promise<void> {
    await this.page.evaluate(`widget.update(${JSON.stringify({ sessionId, clientSecret, vault })})`);
  }

  async enterCard(number = testCard.number): Promise<void> {
    await this.frame.locator("#number").fill(number);
    await this.frame.locator("#expiry").fill("04/31");
    await this.frame.locator("#cvc").fill("123");
  }

  async fileOf(path: string): Promise<MerchantFile> {
    const response = await fetch(this.merchantOrigin + path);
    return { contentType: response.headers.get("content-type") ?? "", body: await response.text() };
  }

  /** The script elements of the default page. */
  get scripts(): string {
    return `<script src="${this.service.origin}/widget/v1/widget.js"></script><script src="/mount.js"></script>`;
  }

  pageWith(scripts: string, attributes = 'lang="en"'): MerchantFile {
    const options = JSON.stringify(this.mountOptions).replaceAll("<", "\\u003c");
    return {
      contentType: "text/html; charset=utf-8",
      body: `<!doctype html><html ${attributes}><title>Shop</title><div id="card"></div>
        <script type="application/json" id="session">${options}</script>${scripts}</html>`,
    };
  }

  #serveMerchant(path: string, response: ServerResponse): void {
    const { service, stage } = this;
    const scripts = `script-src 'self' ${service.origin} ${stage.vaultOrigin} ${this.scriptSources}`;
    const policy = `default-src 'none'; ${scripts}; connect-src 'self' ${service.origin}; frame-src ${stage.vaultOrigin}`;
    const file = this.merchantFiles.get(path) ?? this.#ownFile(path);
    if (file === undefined) return void response.writeHead(404).end();
    const headers = { "Content-Type": file.contentType, "Content-Security-Policy": this.changePolicy(policy) };
    response.writeHead(200, headers).end(file.body);
  }

  #ownFile(path: string): MerchantFile | undefined {
    if (path === "/") return this.pageWith(this.scripts);
    return path === "/mount.js" ? { contentType: "text/javascript", body: mountScript } : undefined;
  }
}

const bankPage = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Bank</title>
  <main><h1>Bank</h1><p><label>Code <input></label> <button>Confirm</button></p></main></html>`;

type EmulatedBank = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Builds the pages. A ticket may be used as often as a test likes. */
async function buildEmulatedBank(): Promise<EmulatedBank> {
  const { files, render } = await bundleAuthenticationPages();
  const html = "text/html; charset=utf-8";
  const pages = new Map<string, readonly [contentType: string, body: string | Uint8Array]>([
    ["/authentication/test/frame", [html, render("frame", { acceptLanguage: "en", embedders: ["*"] })]],
    ["/bank", [html, bankPage]],
    ...[...files].map(([path, { contentType, bytes }]) => [path, [contentType, bytes]] as const),
  ]);
  return (request, response) => {
    const { origin, pathname } = new URL(request.url ?? "", `http://${request.headers.host}`);
    const action = { url: `${origin}/bank`, method: "GET", fields: {} };
    const page =
      pathname === "/authentication/test/open"
        ? (["application/json", JSON.stringify(action)] as const)
        : pages.get(pathname);
    if (page) response.writeHead(200, { "content-type": page[0] }).end(page[1]);
    return page !== undefined;
  };
}
