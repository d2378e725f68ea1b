/** The widget comes and goes as pages do: unmounted at any moment, mounted twice, given another session, without its button. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { standInSession } from "../testing/checkout-stand-in.ts";
import { WidgetScene, WidgetStage } from "./widget-scene.ts";

let stage: WidgetStage;
let scene: WidgetScene;

beforeAll(async () => {
  stage = await WidgetStage.build();
});
afterAll(() => stage?.close());
beforeEach(async () => {
  scene = await WidgetScene.open(stage);
});
afterEach(() => scene?.close());

const pay = () => scene.payButton.click();
const successes = () => scene.callNames.filter((name) => name === "onSuccess");
/** What an expression throws in the page. */
const complaintOf = (expression: string) =>
  scene.page.evaluate(`(() => { try { ${expression} } catch (error) { return error.message } })()`);

/** Brings the page to a moment, and gives what lets the held part go on. */
const moments: readonly [string, () => Promise<() => void>][] = [
  [
    "while the card goes to the vault",
    async () => {
      const held = Promise.withResolvers<void>();
      const asked = Promise.withResolvers<void>();
      await scene.page.route("**/tokens", async (route) => {
        asked.resolve();
        await held.promise;
        await route.continue().catch(() => undefined);
      });
      await scene.enterCard();
      await pay();
      await asked.promise;
      return () => held.resolve();
    },
  ],
  [
    "while the payment is submitted",
    async () => {
      const held = Promise.withResolvers<void>();
      scene.service.onSubmit = async () => {
        await held.promise;
        return scene.service.checkout;
      };
      await scene.enterCard();
      await pay();
      await expect.poll(() => scene.service.submitted.length, { timeout: 10_000 }).toBe(1);
      return () => held.resolve();
    },
  ],
  [
    "while the outcome is waited for",
    async () => {
      await scene.enterCard();
      await pay();
      await expect.poll(() => scene.service.looks, { timeout: 10_000 }).toBeGreaterThan(1);
      return () => undefined;
    },
  ],
];

describe("unmount()", () => {
  it.each(moments)("is silent %s, and the next mount tells the one outcome", async (_moment, reach) => {
    await scene.goToCheckout();
    const goOn = await reach();
    const result = scene.page.evaluate("widget.submit()");
    await scene.page.evaluate("widget.unmount()");
    expect(await result).toEqual({ kind: "unmounted" });
    expect(await scene.page.locator("#card").innerHTML()).toBe("");
    scene.service.succeed();
    goOn();
    await scene.page.evaluate("widget = mount()");
    const calls = () => scene.callNames.toSorted();
    await expect.poll(calls, { timeout: 10_000 }).toEqual(["onReady", "onReady", "onSuccess"]);
  });

  it("is silent right after mount, and from within a callback", async () => {
    await scene.page.goto(scene.merchantOrigin);
    await scene.page.evaluate("widget.unmount()");
    scene.service.succeed();
    await scene.page.evaluate(`new Promise((resolve) => {
      const session = JSON.parse(document.getElementById("session").textContent);
      const callbacks = { onReady: () => tell("onReady"), onDeclined: () => tell("onDeclined") };
      const onSuccess = () => { tell("onSuccess"); inside.unmount(); resolve(); };
      const inside = Switchyard.mount({ container: "#card", ...session, ...callbacks, onSuccess });
    })`);
    expect(successes()).toHaveLength(1);
    expect(await scene.page.locator("#card").innerHTML()).toBe("");
  });

  it("does no harm the second time: what was mounted there since stays the only one", async () => {
    await scene.goToCheckout();
    await scene.page.evaluate("first = widget; widget.unmount(); widget = mount(); first.unmount()");
    expect(await complaintOf("mount()")).toContain("already holds a widget");
    expect(await complaintOf("first.update(session)")).toContain("update() comes after unmount()");
    expect(await scene.page.locator("#card iframe").count()).toBe(1);
  });
});

describe("the card frame", () => {
  it("is neither seen nor typed into before the service has named its vault", async () => {
    const held = Promise.withResolvers<void>();
    await scene.page.route("**/GetCheckout", async (route) => {
      await held.promise;
      await route.continue();
    });
    await scene.page.goto(scene.merchantOrigin);
    await scene.frame.locator("#number").waitFor({ state: "attached" });
    expect(await scene.page.locator("iframe").isVisible()).toBe(false);
    await scene.page.evaluate("widget.focus()");
    await scene.page.keyboard.press("Tab");
    await scene.page.keyboard.type("4242");
    expect(await scene.frame.locator("#number").inputValue()).toBe("");
    held.resolve();
    await scene.told("onReady");
    expect(await scene.page.locator("iframe").isVisible()).toBe(true);
  });

  it("goes when a later look names another vault", async () => {
    await scene.page.clock.install();
    await scene.goToCheckout();
    scene.service.checkout.vaultOrigin = "https://other.example";
    await scene.page.clock.runFor(31_000);
    await scene.page.evaluate("document.dispatchEvent(new Event('visibilitychange')), undefined");
    await scene.page.locator("iframe").waitFor({ state: "detached" });
  });
});

describe("submit()", () => {
  it("answers after unmount", async () => {
    await scene.goToCheckout();
    await scene.page.evaluate("widget.unmount()");
    expect(await scene.page.evaluate("widget.submit()")).toEqual({ kind: "unmounted" });
  });

  it("answers when the first look was refused after the card form was there", async () => {
    const held = Promise.withResolvers<void>();
    let isFirst = true;
    await scene.page.route("**/GetCheckout", async (route) => {
      await held.promise;
      const authorization = isFirst ? "Bearer wrong" : (route.request().headers().authorization ?? "");
      isFirst = false;
      await route.continue({ headers: { ...route.request().headers(), authorization } });
    });
    await scene.page.goto(scene.merchantOrigin);
    await scene.frame.locator("#number").waitFor({ state: "attached" });
    held.resolve();
    await scene.told("onError");
    expect(await scene.page.evaluate("widget.submit()")).toMatchObject({ error: { code: "card_form_unavailable" } });
  });
});

describe("mount()", () => {
  it("takes a double mount, as React's StrictMode does one, for one form", async () => {
    scene.service.onSubmit = () => scene.service.succeed();
    const mount = { contentType: "text/javascript", body: (await scene.fileOf("/mount.js")).body.toString() };
    mount.body = mount.body.replace("widget = mount()", "widget = (mount().unmount(), mount())");
    scene.merchantFiles.set("/mount.js", mount);
    await scene.goToCheckout();
    expect(await scene.page.locator("#card iframe").count()).toBe(1);
    await scene.enterCard();
    await pay();
    await scene.told("onSuccess");
    expect(scene.callNames).toEqual(["onReady", "onSuccess"]);
    expect(scene.service.submitted).toHaveLength(1);
  });

  it("is the same from the ES module as from the script tag", async () => {
    scene.service.onSubmit = () => scene.service.succeed();
    const { body } = await scene.fileOf("/mount.js");
    const module = `import { mount as put } from "${scene.service.origin}/widget/v1/widget.mjs";
      const Switchyard = { mount: put };
      ${body}`;
    scene.merchantFiles.set("/mount.js", { contentType: "text/javascript", body: module });
    scene.merchantFiles.set("/", scene.pageWith('<script type="module" src="/mount.js"></script>'));
    await scene.goToCheckout();
    expect(await scene.page.evaluate("globalThis.Switchyard")).toBeUndefined();
    await scene.enterCard();
    await pay();
    await scene.told("onSuccess");
  });

  it("shows the amount on a page whose language is no language tag", async () => {
    scene.merchantFiles.set("/", scene.pageWith(scene.scripts, 'lang="de_DE"'));
    await scene.goToCheckout();
    expect(await scene.payButton.textContent()).toBe("49,00\u00a0€ bezahlen");
  });

  it("goes on when a callback throws, and the page hears of its own mistake", async () => {
    const errors: string[] = [];
    scene.page.on("pageerror", (error) => errors.push(error.message));
    const { body } = await scene.fileOf("/mount.js");
    const throwing = `${body}`.replace(
      "=> tell(name, result);",
      "=> { tell(name, result); throw new Error('the page\\'s own'); };",
    );
    scene.merchantFiles.set("/mount.js", { contentType: "text/javascript", body: throwing });
    scene.service.onSubmit = () => scene.service.decline("card_expired");
    await scene.goToCheckout();
    await scene.enterCard();
    await pay();
    await scene.page.getByRole("alert").getByText("has expired").waitFor();
    expect(scene.callNames).toEqual(["onReady", "onDeclined"]);
    expect(errors).toEqual(["the page's own", "the page's own"]);
  });
});

describe("submitButton: false", () => {
  it("leaves paying to the page's own button, which gets the result too", async () => {
    scene.mountOptions.submitButton = false;
    scene.service.onSubmit = () => scene.service.succeed();
    await scene.goToCheckout();
    expect(await scene.payButton.count()).toBe(0);
    await scene.enterCard();
    const result = await scene.page.evaluate("widget.submit()");
    expect(result).toEqual({ kind: "succeeded", capturedVia: "SANDBOX_B", failoverUsed: true });
    expect(successes()).toHaveLength(1);
  });
});

describe("update()", () => {
  it("waits for a running payment, and refuses the session that has ended", async () => {
    await scene.goToCheckout();
    await scene.enterCard();
    await pay();
    await expect.poll(() => scene.service.submitted.length, { timeout: 10_000 }).toBe(1);
    expect(await complaintOf("widget.update(session)")).toContain("until the running payment has ended");
    scene.service.decline("card_declined");
    await scene.told("onDeclined");
    expect(await complaintOf("widget.update(session)")).toContain("sessionId is of the session that has ended");
    expect(await complaintOf("widget.update()")).toContain("session must be an object");

    scene.service.reopen();
    await scene.update(await scene.sessionOptions(`${standInSession}2`));
    expect(scene.callNames).toEqual(["onReady", "onDeclined", "onReady"]);
  });

  it("shows nothing of the session before, whose words came late", async () => {
    const [translated, looked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await scene.page.route("**/de-*", (route) => translated.promise.then(() => route.continue()));
    scene.mountOptions.locale = "de";
    await scene.goToCheckout();
    await scene.page.route("**/GetCheckout", (route) => looked.promise.then(() => route.continue()));
    const next = scene.update(await scene.sessionOptions(`${standInSession}2`));
    const words = scene.page.waitForResponse("**/de-*");
    translated.resolve();
    await (await words).finished();
    // What the words let go on is done within a few turns of the page.
    await scene.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 50))));
    expect(await scene.page.locator(".pay").textContent()).toBe("");
    scene.service.checkout.amountMinor = 100n;
    looked.resolve();
    await next;
    await expect.poll(() => scene.page.locator(".pay").textContent()).toBe("1,00\u00a0€ bezahlen");
  });
});
