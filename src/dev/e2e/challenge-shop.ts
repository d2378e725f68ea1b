/**
 * A shop with the documented policy, on a third site beside the service's and the bank's, whose customers meet a
 * challenge at the sandbox bank.
 */
import type { BrowserContext, FrameLocator, Page } from "playwright-core";
import { ApiCheckout, type OpenedSession } from "./api-checkout.ts";
import { documentedPolicy } from "./documented-policy.ts";
import { MerchantPages } from "./merchant-pages.ts";
import type { SharedDemo } from "./shared-demo.fixture.ts";

/** The frame's name, and the heading above it. */
export const challengeTitle = "Confirm this payment with your bank";
/** The code that the sandbox bank takes. */
const passingCode = "123456";

const mountScript = `
  const { options, withReturn, withoutWindows } = JSON.parse(document.getElementById("session").textContent);
  if (withoutWindows) globalThis.open = () => null;
  const callback = (name) => (result) => report(name, result);
  const names = ["onReady", "onSuccess", "onDeclined", "onError", "onPending", "onAuthentication"];
  const callbacks = Object.fromEntries(names.map((name) => [name, callback(name)]));
  Switchyard.mount({ container: "#card", wallets: [], ...options, ...callbacks, ...(withReturn && { returnTo: location.href }) });
`;

export type ChallengePage = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly fields?: object;
  readonly withReturn?: boolean;
  /** True as in browsers of apps, which open no second window. */
  readonly withoutWindows?: boolean;
};

export class ChallengeShop {
  readonly api: ApiCheckout;
  readonly #demo: Pick<SharedDemo, "file">;
  readonly #pages: MerchantPages;

  private constructor(demo: Pick<SharedDemo, "file">, pages: MerchantPages) {
    this.#demo = demo;
    this.#pages = pages;
    this.api = new ApiCheckout(demo.file);
    pages.pages.set("/mount.js", { body: mountScript });
    pages.pages.set("/favicon.svg", { body: "" });
    pages.pages.set("/shop.css", {
      body: "body { margin: 0; padding: 16px } #card { max-width: 34rem; margin: 0 auto }",
      headers: { "content-type": "text/css" },
    });
  }

  static async start(demo: Pick<SharedDemo, "file">): Promise<ChallengeShop> {
    return new ChallengeShop(demo, await MerchantPages.start());
  }

  get reports(): string[] {
    return this.#pages.reports;
  }

  async sell({ headers, fields, ...script }: ChallengePage = {}): Promise<{ session: OpenedSession; url: string }> {
    const session = await this.api.open(fields);
    const { sessionId, clientSecret, vault } = session;
    const options = { apiBase: this.#demo.file.connectOrigin, sessionId, clientSecret, vault };
    const data = JSON.stringify({ options, ...script });
    const head =
      '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><link rel="icon" href="/favicon.svg"><link rel="stylesheet" href="/shop.css">';
    this.#pages.pages.set(`/${sessionId}`, {
      body: `<!doctype html><html lang="en"><title>Shop</title>${head}<div id="card"></div>
        <script type="application/json" id="session">${data}</script>
        <script src="${options.apiBase}/widget/v1/widget.js"></script><script src="/mount.js"></script></html>`,
      headers: { "content-security-policy": `${documentedPolicy(this.#demo.file)}; report-uri /reports`, ...headers },
    });
    const origin = this.#pages.origin.replace("127.0.0.1", "shop.localhost");
    return { session, url: `${origin}/${sessionId}` };
  }

  close(): void {
    this.#pages.close();
  }
}

/** A customer's page in the shop, with its callbacks and everything that a document complains about. */
export class ChallengeCustomer {
  readonly page: Page;
  readonly calls: [string, unknown][] = [];
  readonly complaints: string[] = [];

  private constructor(page: Page) {
    this.page = page;
  }

  static async enter(context: BrowserContext, url: string): Promise<ChallengeCustomer> {
    const page = await context.newPage();
    const customer = new ChallengeCustomer(page);
    page.on("console", (message) => customer.complaints.push(message.text()));
    page.on("pageerror", (error) => customer.complaints.push(error.message));
    await page.exposeFunction("report", (name: string, result: unknown) => void customer.calls.push([name, result]));
    await page.goto(url);
    return customer;
  }

  async enterCard(number: string): Promise<void> {
    const frame = this.page.frameLocator("#card iframe").first();
    await frame.locator("#number").fill(number);
    await frame.locator("#expiry").fill("04/31");
    await frame.locator("#cvc").fill("123");
  }

  async pay(number: string): Promise<void> {
    await this.enterCard(number);
    await this.page.getByRole("button", { name: /^Pay/ }).click();
  }

  get bank(): FrameLocator {
    const around = this.page.frameLocator(`#card iframe[title="${challengeTitle}"]`);
    return around.frameLocator("iframe").frameLocator("iframe");
  }

  resultsOf(name: string): unknown[] {
    return this.calls.filter(([called]) => called === name).map(([, result]) => result);
  }
}

export async function answerBank(bank: FrameLocator | Page, code = passingCode): Promise<void> {
  await bank.getByLabel("Code").fill(code);
  await bank.getByRole("button", { name: "Confirm" }).click();
}
