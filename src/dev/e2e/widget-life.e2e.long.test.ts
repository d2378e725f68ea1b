/** The widget comes and goes: unmounted at any moment, mounted twice, reloaded, given another session or language. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { emulatorSession } from "../testing/checkout-emulator.ts";
import { forFile } from "../testing/for-file.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";

let fixture: WidgetFixture;

const stage = await forFile(() => WidgetStage.build());
beforeEach(async () => {
  fixture = await WidgetFixture.open(stage);
});
afterEach(() => fixture?.close());

const pay = () => fixture.payButton.click();
const successes = () => fixture.callNames.filter((name) => name === "onSuccess");
const complaintOf = (expression: string) =>
  fixture.page.evaluate(`(() => { try { ${expression} } catch (error) { return error.message } })()`);

/** Brings the page to a moment, and returns a function that releases the held part. */
const moments: readonly [string, () => Promise<() => void>][] = [
  [
    "while the card goes to the vault",
    async () => {
      const held = Promise.withResolvers<void>();
      const requested = Promise.withResolvers<void>();
      await fixture.page.route("**/tokens", async (route) => {
        requested.resolve();
        await held.promise;
        await route.continue().catch(() => undefined);
      });
      await fixture.enterCard();
      await pay();
      await requested.promise;
      return () => held.resolve();
    },
  ],
  [
    "while the payment is submitted",
    async () => {
      const held = Promise.withResolvers<void>();
      fixture.service.onSubmit = async () => {
        await held.promise;
        return fixture.service.checkout;
      };
      await fixture.enterCard();
      await pay();
      await expect.poll(() => fixture.service.submitted.length).toBe(1);
      return () => held.resolve();
    },
  ],
  [
    "while the outcome is waited for",
    async () => {
      await fixture.enterCard();
      await pay();
      await expect.poll(() => fixture.service.looks).toBeGreaterThan(1);
      return () => undefined;
    },
  ],
];

describe("unmount()", () => {
  it.each(moments)("is silent %s, and the next mount reports the one outcome", async (_moment, reach) => {
    await fixture.goToCheckout();
    const goOn = await reach();
    const result = fixture.page.evaluate("widget.submit()");
    await fixture.page.evaluate("widget.unmount()");
    expect(await result).toEqual({ kind: "unmounted" });
    expect(await fixture.page.locator("#card").innerHTML()).toBe("");
    fixture.service.succeed();
    goOn();
    await fixture.page.evaluate("widget = mount()");
    const calls = () => fixture.callNames.toSorted();
    await expect.poll(calls).toEqual(["onReady", "onReady", "onSuccess"]);
  });

  it("is silent right after mount, and from within a callback", async () => {
    await fixture.page.goto(fixture.merchantOrigin);
    await fixture.page.evaluate("widget.unmount()");
    fixture.service.succeed();
    await fixture.page.evaluate(`new Promise((resolve) => {
      const session = JSON.parse(document.getElementById("session").textContent);
      const callbacks = { onReady: () => report("onReady"), onDeclined: () => report("onDeclined") };
      const onSuccess = () => { report("onSuccess"); inside.unmount(); resolve(); };
      const inside = Switchyard.mount({ container: "#card", ...session, ...callbacks, onSuccess });
    })`);
    expect(successes()).toHaveLength(1);
    expect(await fixture.page.locator("#card").innerHTML()).toBe("");
  });

  it("does no harm the second time: what was mounted there since stays the only one", async () => {
    await fixture.goToCheckout();
    await fixture.page.evaluate("first = widget; widget.unmount(); widget = mount(); first.unmount()");
    expect(await complaintOf("mount()")).toContain("already holds a widget");
    expect(await complaintOf("first.update(session)")).toContain("update() comes after unmount()");
    expect(await fixture.page.locator("#card iframe").count()).toBe(1);
  });
});

describe("the card frame", () => {
  it("is neither seen nor typed into before the service has named its vault", async () => {
    const held = Promise.withResolvers<void>();
    await fixture.page.route("**/GetCheckout", async (route) => {
      await held.promise;
      await route.continue();
    });
    await fixture.page.goto(fixture.merchantOrigin);
    await fixture.frame.locator("#number").waitFor({ state: "attached" });
    expect(await fixture.page.locator("iframe").isVisible()).toBe(false);
    await fixture.page.evaluate("widget.focus()");
    await fixture.page.keyboard.press("Tab");
    await fixture.page.keyboard.type("4242");
    expect(await fixture.frame.locator("#number").inputValue()).toBe("");
    held.resolve();
    await fixture.called("onReady");
    expect(await fixture.page.locator("iframe").isVisible()).toBe(true);
  });

  it("goes when a later look names another vault", async () => {
    await fixture.page.clock.install();
    await fixture.goToCheckout();
    fixture.service.checkout.vaultOrigin = "https://other.example";
    await fixture.page.clock.runFor(31_000);
    await fixture.page.evaluate("document.dispatchEvent(new Event('visibilitychange')), undefined");
    await fixture.page.locator("iframe").waitFor({ state: "detached" });
  });
});

describe("submit()", () => {
  it("answers after unmount", async () => {
    await fixture.goToCheckout();
    await fixture.page.evaluate("widget.unmount()");
    expect(await fixture.page.evaluate("widget.submit()")).toEqual({ kind: "unmounted" });
  });

  it("answers when the first look was refused after the card form was there", async () => {
    const held = Promise.withResolvers<void>();
    let isFirst = true;
    await fixture.page.route("**/GetCheckout", async (route) => {
      await held.promise;
      const authorization = isFirst ? "Bearer wrong" : (route.request().headers().authorization ?? "");
      isFirst = false;
      await route.continue({ headers: { ...route.request().headers(), authorization } });
    });
    await fixture.page.goto(fixture.merchantOrigin);
    await fixture.frame.locator("#number").waitFor({ state: "attached" });
    held.resolve();
    await fixture.called("onError");
    expect(await fixture.page.evaluate("widget.submit()")).toMatchObject({ error: { code: "card_form_unavailable" } });
  });
});

describe("mount()", () => {
  it("treats a double mount, as by React's StrictMode, as one form", async () => {
    fixture.service.onSubmit = () => fixture.service.succeed();
    const mount = { contentType: "text/javascript", body: (await fixture.fileOf("/mount.js")).body.toString() };
    mount.body = mount.body.replace("widget = mount()", "widget = (mount().unmount(), mount())");
    fixture.merchantFiles.set("/mount.js", mount);
    await fixture.goToCheckout();
    expect(await fixture.page.locator("#card iframe").count()).toBe(1);
    await fixture.enterCard();
    await pay();
    await fixture.called("onSuccess");
    expect(fixture.callNames).toEqual(["onReady", "onSuccess"]);
    expect(fixture.service.submitted).toHaveLength(1);
  });

  it("is the same from the ES module as from the script tag", async () => {
    fixture.service.onSubmit = () => fixture.service.succeed();
    const { body } = await fixture.fileOf("/mount.js");
    const module = `import { mount as put } from "${fixture.service.origin}/widget/v1/widget.mjs";
      const Switchyard = { mount: put };
      ${body}`;
    fixture.merchantFiles.set("/mount.js", { contentType: "text/javascript", body: module });
    fixture.merchantFiles.set("/", fixture.pageWith('<script type="module" src="/mount.js"></script>'));
    await fixture.goToCheckout();
    expect(await fixture.page.evaluate("globalThis.Switchyard")).toBeUndefined();
    await fixture.enterCard();
    await pay();
    await fixture.called("onSuccess");
  });

  it("shows the amount on a page whose language is no language tag", async () => {
    fixture.merchantFiles.set("/", fixture.pageWith(fixture.scripts, 'lang="de_DE"'));
    await fixture.goToCheckout();
    expect(await fixture.payButton.textContent()).toBe("49,00\u00a0€ bezahlen");
    // A template without its value: then the browser's language counts.
    await fixture.page.evaluate(`document.documentElement.lang = "{{lang}}";
      Object.defineProperty(navigator, "language", { value: "fr" });
      widget.unmount();
      widget = mount();`);
    await expect.poll(() => fixture.payButton.textContent()).toMatch(/^Payer 49,00/);
  });

  it("continues when a callback throws, and the page sees its own mistake", async () => {
    const errors: string[] = [];
    fixture.page.on("pageerror", (error) => errors.push(error.message));
    const { body } = await fixture.fileOf("/mount.js");
    const throwing = `${body}`.replace(
      "=> report(name, result);",
      "=> { report(name, result); throw new Error('the page\\'s own'); };",
    );
    fixture.merchantFiles.set("/mount.js", { contentType: "text/javascript", body: throwing });
    fixture.service.onSubmit = () => fixture.service.decline("card_expired");
    await fixture.goToCheckout();
    await fixture.enterCard();
    await pay();
    await fixture.page.getByRole("alert").getByText("has expired").waitFor();
    expect(fixture.callNames).toEqual(["onReady", "onDeclined"]);
    expect(errors).toEqual(["the page's own", "the page's own"]);
  });
});

describe("submitButton: false", () => {
  it("leaves paying to the page's own button alone, which gets the result too", async () => {
    fixture.mountOptions.submitButton = false;
    fixture.service.onSubmit = () => fixture.service.succeed();
    await fixture.goToCheckout();
    expect(await fixture.payButton.count()).toBe(0);
    const heightOf = () => fixture.page.locator("iframe").evaluate((frame) => frame.clientHeight);
    const before = await heightOf();
    await fixture.frame.locator("#expiry").fill("13/31");
    await fixture.frame.locator("#expiry").press("Enter");
    // The frame's next message after Enter: it grows by a problem.
    await fixture.frame.locator("#expiry").press("Tab");
    await expect.poll(heightOf).toBeGreaterThan(before);
    expect(await fixture.page.evaluate("widget.running")).toBe(false);
    expect(fixture.callNames).toEqual(["onReady"]);
    await fixture.enterCard();
    const result = await fixture.page.evaluate("widget.submit()");
    expect(result).toEqual({ kind: "succeeded", capturedVia: "SANDBOX_B", failoverUsed: true });
    expect(successes()).toHaveLength(1);
  });
});

describe("update()", () => {
  it("waits for a running payment, and refuses the session that has ended", async () => {
    await fixture.goToCheckout();
    await fixture.enterCard();
    await pay();
    await expect.poll(() => fixture.service.submitted.length).toBe(1);
    expect(await complaintOf("widget.update(session)")).toContain("until the running payment has ended");
    fixture.service.decline("card_declined");
    await fixture.called("onDeclined");
    expect(await complaintOf("widget.update(session)")).toContain("sessionId is of the session that has ended");
    expect(await complaintOf("widget.update()")).toContain("session must be an object");

    fixture.service.reopen();
    await fixture.update(await fixture.sessionOptions(`${emulatorSession}2`));
    expect(fixture.callNames).toEqual(["onReady", "onDeclined", "onReady"]);
  });

  it("shows nothing of the session before, whose texts came late", async () => {
    const [translated, looked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await fixture.page.route("**/de-*", (route) => translated.promise.then(() => route.continue()));
    fixture.mountOptions.locale = "de";
    await fixture.goToCheckout();
    await fixture.page.route("**/GetCheckout", (route) => looked.promise.then(() => route.continue()));
    const next = fixture.update(await fixture.sessionOptions(`${emulatorSession}2`));
    // The page runs it after the update has begun.
    await fixture.page.evaluate("0");
    const words = fixture.page.waitForResponse("**/de-*");
    translated.resolve();
    await (await words).finished();
    // The effects of the texts are complete within a few turns of the page.
    await fixture.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 50))));
    expect(await fixture.page.locator(".pay").textContent()).toBe("");
    fixture.service.checkout.amountMinor = 100n;
    looked.resolve();
    await next;
    await expect.poll(() => fixture.page.locator(".pay").textContent()).toBe("1,00\u00a0€ bezahlen");
  });
});

describe("Switchyard.mount() in a page", () => {
  it("pays by Enter in the card form, in a browser of 2023", async () => {
    await fixture.page.addInitScript("delete Promise.withResolvers");
    fixture.service.onSubmit = () => fixture.service.succeed();
    await fixture.goToCheckout();
    await fixture.enterCard();
    await fixture.frame.locator("#cvc").press("Enter");
    await fixture.called("onSuccess");
    expect(fixture.service.submitted).toHaveLength(1);
  });

  it("follows a payment through a reload, without a second submit", async () => {
    await fixture.goToCheckout();
    await fixture.enterCard();
    await fixture.payButton.click();
    await expect.poll(() => fixture.service.submitted.length).toBe(1);
    await fixture.page.reload();
    await fixture.page.getByText("Processing your payment").waitFor();
    fixture.service.succeed();
    await fixture.called("onSuccess");
    expect(fixture.service.submitted).toHaveLength(1);
  });

  it("announces one loading state from the click to the outcome", async () => {
    await fixture.goToCheckout();
    await fixture.page.evaluate(() => {
      const status = document.querySelector("#card > div")!.shadowRoot!.querySelector("[role=status]")!;
      const announced: string[] = [];
      Object.assign(window, { announced });
      new MutationObserver(() => announced.push(status.textContent ?? "")).observe(status, { childList: true });
    });
    await fixture.enterCard();
    await fixture.payButton.click();
    await expect.poll(() => fixture.service.looks).toBeGreaterThan(1);
    fixture.service.succeed();
    await fixture.called("onSuccess");
    expect(await fixture.page.evaluate("announced")).toEqual(["Processing your payment…", "Payment complete."]);
  });

  it("speaks the page's language, from right to left where it is written so", async () => {
    fixture.mountOptions = { ...fixture.mountOptions, locale: "ar" };
    await fixture.goToCheckout();
    await fixture.page.getByRole("button", { name: "ادفع" }).waitFor();
    expect(await fixture.page.locator("#card > div").getAttribute("dir")).toBe("rtl");
  });

  it("leaves nothing behind when it is unmounted, and mounts again", async () => {
    await fixture.goToCheckout();
    await fixture.page.evaluate("widget.unmount()");
    expect(await fixture.page.locator("#card").innerHTML()).toBe("");
    await fixture.page.evaluate("widget = mount()");
    await expect
      .poll(() => fixture.calls)
      .toEqual([
        ["onReady", undefined],
        ["onReady", undefined],
      ]);
  });
});
