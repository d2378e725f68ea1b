/** The card frame alone on a merchant's page of another site, in a real browser, with the real vault behind it. */
import type { BrowserContextOptions, Frame, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { CardFrame, CardFrameOptions } from "../../../widget/vault-sdk/sdk.ts";
import { startVaultFixture, testCard, type VaultFixture } from "../../vault/vault.fixture.ts";
import { launchBrowser } from "../testing/browser.ts";
import { MerchantPages } from "./merchant-pages.ts";

type Browser = Awaited<ReturnType<typeof launchBrowser>>;

export class CardFrameStage {
  readonly vault: VaultFixture;
  /** Another site than the merchant's page, not only another port. */
  readonly vaultOrigin: string;
  readonly browser: Browser;
  readonly #pages: MerchantPages;

  private constructor(vault: VaultFixture, browser: Browser, pages: MerchantPages) {
    this.vault = vault;
    this.vaultOrigin = vault.vault.origins.public.replace("127.0.0.1", "localhost");
    this.browser = browser;
    this.#pages = pages;
    const policy = `default-src 'none'; script-src ${this.vaultOrigin}; frame-src ${this.vaultOrigin}`;
    pages.pages.set("/", {
      headers: { "content-security-policy": policy },
      body: `<!doctype html><html lang="en"><title>Shop</title><main><div id="card"></div>
        <button id="pay">Pay</button></main><script src="${this.vaultOrigin}/sdk.js"></script></html>`,
    });
  }

  static async build(launch = launchBrowser): Promise<CardFrameStage> {
    const parts = await Promise.all([startVaultFixture(), launch(), MerchantPages.start()]);
    return new CardFrameStage(...parts);
  }

  get shopOrigin(): string {
    return this.#pages.origin;
  }

  async close(): Promise<void> {
    await this.browser.close();
    this.#pages.close();
    await this.vault.close();
  }
}

export class CardFrameFixture {
  readonly page: Page;
  readonly #stage: CardFrameStage;

  private constructor(stage: CardFrameStage, page: Page) {
    this.#stage = stage;
    this.page = page;
  }

  /** Opens the merchant's page; the frame comes with `mount`. */
  static async open(stage: CardFrameStage, options: BrowserContextOptions = {}): Promise<CardFrameFixture> {
    const page = await stage.browser.newPage(options);
    await page.goto(stage.shopOrigin);
    return new CardFrameFixture(stage, page);
  }

  /** Mounts the frame in place of an earlier one, and waits until it accepts input; the page reaches it as `frame`. */
  async mount(change: Partial<CardFrameOptions> = {}): Promise<void> {
    const { vault, vaultOrigin, shopOrigin } = this.#stage;
    const options = { ...change, sdkUrl: `${vaultOrigin}/sdk.js`, framePolicy: await vault.policy([shopOrigin]) };
    await this.page.evaluate(async (given) => {
      (globalThis as { frame?: CardFrame }).frame?.destroy();
      const container = document.querySelector<HTMLElement>("#card")!;
      const onChange = (state: object) => Object.assign(globalThis, { state });
      const frame = globalThis.SwitchyardVault!.mountCardFrame({ ...given, container, onChange });
      Object.assign(globalThis, { frame });
      await frame.ready;
    }, options);
  }

  field(id: string): Locator {
    return this.page.frameLocator("iframe").locator(`#${id}`);
  }

  get document(): Frame {
    const frame = this.page.frames().find((one) => one.url().startsWith(this.#stage.vaultOrigin));
    if (frame === undefined) throw new Error("the card frame is not there");
    return frame;
  }

  /** Returns the text with a `|` at the caret. */
  async caretIn(id: string): Promise<string> {
    return this.field(id).evaluate((input: HTMLInputElement) => {
      const caret = input.selectionStart ?? 0;
      return `${input.value.slice(0, caret)}|${input.value.slice(caret)}`;
    });
  }

  async type(id: string, text: string): Promise<void> {
    await this.field(id).click();
    await this.page.keyboard.type(text);
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async enterCard(): Promise<void> {
    await this.type("number", testCard.number);
    await this.type("expiry", "431");
    await this.type("cvc", testCard.cvc);
  }

  /** Returns the frame's last message to the page about the form. */
  state(): Promise<unknown> {
    return this.page.evaluate("state");
  }

  /** Requests a token as a page does; returns the refusal's code in place of an error. */
  async tokenize(): Promise<Record<string, string>> {
    const grant = await this.#stage.vault.grant("ps_scene");
    const call = `frame.tokenize(${JSON.stringify(grant)}).catch(({ code }) => ({ code }))`;
    return (await this.page.evaluate(call)) as Record<string, string>;
  }

  /** Waits until this field has the focus, also from the page's point of view. */
  async focused(id: string): Promise<void> {
    const hasFocus = () =>
      this.field(id).evaluate((input) => document.hasFocus() && input === input.ownerDocument.activeElement);
    await expect.poll(hasFocus).toBe(true);
  }

  close(): Promise<void> {
    return this.page.context().close();
  }
}
