/** A customer of the demo shop in a real browser, with a record of the widget's callbacks and their times. */
import type { Browser, BrowserContext, FrameLocator, Page } from "playwright-core";

/** Something that the page saw, at the moment of the page's own clock. */
export type Noted = { readonly what: string; readonly value: unknown; readonly at: number };

export type OpenCheckout = { readonly orderRef: string; readonly sessionId: string };

/** Runs in every page before its scripts. The shop's own code stays unchanged. */
const takeNotes = `
  const report = (what, value) => note({ what, value, at: Date.now() });
  const observe = (node, options, read) => new MutationObserver(() => read()).observe(node, options);
  const watchForm = (container) => {
    const root = document.querySelector(container).lastElementChild.shadowRoot;
    const button = root.querySelector("button");
    const status = root.querySelector("[role=status]");
    let busy = button.getAttribute("aria-busy");
    observe(status, { childList: true }, () => report("status", status.textContent));
    observe(button, { attributes: true }, () => {
      if (button.getAttribute("aria-busy") === busy) return;
      busy = button.getAttribute("aria-busy");
      report("busy", busy);
    });
  };
  let widget;
  Object.defineProperty(globalThis, "Switchyard", {
    get: () => widget,
    set({ mount }) {
      const noting = (options, name) => ({
        // The shop may leave the page at once, and then the form's last message would not be noted.
        [name](...results) {
          report(name, results).then(() => options[name](...results));
        },
      });
      widget = {
        mount(options) {
          const noted = ["onSuccess", "onDeclined", "onPending"].map((name) => noting(options, name));
          const mounted = mount(Object.assign({ ...options }, ...noted));
          watchForm(options.container);
          mounted.ready.then(() => report("ready"));
          return mounted;
        },
      };
    },
  });
  document.addEventListener("DOMContentLoaded", () => {
    const details = document.getElementById("details");
    if (!details) return;
    const look = () => details.textContent.includes("Signature verified") && report("webhook");
    observe(details, { childList: true }, look);
    look();
  });
`;

const stepTimeoutMs = 20_000;

export class ShopCustomer {
  readonly page: Page;
  readonly notes: Noted[] = [];
  /** The console of its page, and everything that the page's policy blocked. */
  readonly complaints: string[] = [];
  readonly #context: BrowserContext;
  readonly #shopUrl: string;

  private constructor(context: BrowserContext, page: Page, shopUrl: string) {
    this.#context = context;
    this.page = page;
    this.#shopUrl = shopUrl;
  }

  static async enter(browser: Browser, shopUrl: string, timeoutMs = stepTimeoutMs): Promise<ShopCustomer> {
    const context = await browser.newContext();
    // The limit is before the test's own timeout, so that the step that hangs is named.
    context.setDefaultTimeout(timeoutMs);
    const page = await context.newPage();
    const customer = new ShopCustomer(context, page, shopUrl);
    page.on("console", (message) => customer.complaints.push(message.text()));
    page.on("pageerror", (error) => customer.complaints.push(error.message));
    await page.exposeFunction("note", (noted: Noted) => void customer.notes.push(noted));
    await page.addInitScript(takeNotes);
    return customer;
  }

  get cardForm(): FrameLocator {
    return this.page.frameLocator("#card iframe");
  }

  /** Buys the product and waits until the card form accepts input. */
  async goToCheckout(): Promise<OpenCheckout> {
    await this.page.goto(this.#shopUrl);
    await this.page.getByRole("button", { name: "Buy now" }).click();
    await this.page.getByRole("button", { name: "Pay €49.00" }).waitFor();
    await this.cardForm.getByLabel("Card number").waitFor();
    const { orderRef, widget } = JSON.parse((await this.page.locator("#checkout").textContent()) ?? "");
    return { orderRef, sessionId: widget.sessionId };
  }

  async enterCard(number: string): Promise<void> {
    await this.cardForm.getByLabel("Card number").fill(number);
    await this.cardForm.getByLabel("Expiry date").fill("04/31");
    await this.cardForm.getByLabel("Security code").fill(number.length === 15 ? "1234" : "123");
  }

  pay(): Promise<void> {
    return this.page.getByRole("button", { name: "Pay €49.00" }).click();
  }

  valuesOf(what: string): unknown[] {
    return this.notes.filter((noted) => noted.what === what).map(({ value }) => value);
  }

  /** The first time of a note, by the page's clock. */
  timeOf(what: string): number {
    const noted = this.notes.find((one) => one.what === what);
    if (noted === undefined) throw new Error(`the page never saw ${what}`);
    return noted.at;
  }

  leave(): Promise<void> {
    return this.#context.close();
  }
}
