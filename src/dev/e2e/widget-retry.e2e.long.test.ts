/** The customer tries again in the same form: after a decline the next press pays in a fresh session of the page. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { texts as english } from "../../../widget/locales/en.ts";
import { outcomes } from "../../../widget/locales/en-outcomes.ts";
import { emulatorSession } from "../testing/checkout-emulator.ts";
import { forFile } from "../testing/for-file.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";

let fixture: WidgetFixture;
/** Answers the page's getSession; each call asks the page's backend for the next session. */
let backend: () => Promise<unknown>;
let sessions: number;
/** The session that the page begins with. One session has ten tokens, and there are more tests than that. */
let first: string;
let orders = 0;

const stage = await forFile(() => WidgetStage.build());
beforeEach(async () => {
  fixture = await WidgetFixture.open(stage);
  sessions = 1;
  orders += 1;
  first = `${emulatorSession}order${orders}n`;
  fixture.mountOptions = await fixture.sessionOptions(first);
  backend = async () => {
    sessions += 1;
    fixture.service.reopen();
    const { sessionId, clientSecret, vault } = await fixture.sessionOptions(first + sessions);
    return { sessionId, clientSecret, vault };
  };
  await fixture.page.exposeFunction("askBackend", () => backend());
  const { body } = await fixture.fileOf("/mount.js");
  const script = `${body}`.replace("container:", "getSession: () => askBackend(), container:");
  fixture.merchantFiles.set("/mount.js", { contentType: "text/javascript", body: script });
});
afterEach(() => fixture?.close());

const pay = () => fixture.payButton.click();
const alert = () => fixture.page.getByRole("alert").textContent();
const entered = (id: string) => fixture.frame.locator(`#${id}`).inputValue();
const names = () => fixture.callNames;
/** The sessions whose status or payment the page has asked for, in order, each once. */
function askedSessions(): string[] {
  const asked: string[] = [];
  fixture.page.on("request", (request) => {
    if (!request.url().includes("CheckoutService")) return;
    const { sessionId } = request.postDataJSON() as { sessionId: string };
    if (asked.at(-1) !== sessionId) asked.push(sessionId);
  });
  return asked;
}

async function payInVain(code = "card_declined"): Promise<void> {
  fixture.service.onSubmit = () => fixture.service.decline(code);
  await fixture.goToCheckout();
  await fixture.enterCard();
  await pay();
  await fixture.called("onDeclined");
}

async function payAgain(): Promise<void> {
  await fixture.frame.locator("#cvc").fill("123");
  await pay();
}

describe("after a decline, with getSession", () => {
  it("the fields stay, the security code goes, and the next press pays in a fresh session", async () => {
    const asked = askedSessions();
    await payInVain();
    await expect.poll(() => entered("cvc")).toBe("");
    expect(await entered("number")).toBe("4242 4242 4242 4242");
    expect(await entered("expiry")).toBe("04 / 31");
    expect(await alert()).toBe(outcomes.declines.card_declined);
    expect(await fixture.payButton.isEnabled()).toBe(true);
    expect(await fixture.frame.locator("#number").isEditable()).toBe(true);
    expect(names()).toEqual(["onReady", "onDeclined"]);
    expect(sessions).toBe(1);

    fixture.service.onSubmit = () => fixture.service.succeed();
    await payAgain();
    await fixture.called("onSuccess");
    expect(names()).toEqual(["onReady", "onDeclined", "onSuccess"]);
    expect(new Set(fixture.service.submitted).size).toBe(2);
    expect(asked).toEqual([first, `${first}2`]);
  });

  it("every decline is reported, and each has its own session", async () => {
    await payInVain("insufficient_funds");
    for (const code of ["limit_exceeded", "authentication_failed"]) {
      fixture.service.onSubmit = () => fixture.service.decline(code);
      await payAgain();
      await expect.poll(alert).toBe(outcomes.declines[code]);
    }
    const declined = fixture.calls.filter(([name]) => name === "onDeclined").map(([, result]) => result);
    const codes = ["insufficient_funds", "limit_exceeded", "authentication_failed"];
    expect(declined).toEqual(codes.map((declineCode) => ({ declineCode })));
    expect(sessions).toBe(3);
  });

  it("an end without a decline is retried the same way", async () => {
    fixture.service.onSubmit = () => fixture.service.degrade();
    await fixture.goToCheckout();
    await fixture.enterCard();
    await pay();
    await fixture.called("onDeclined");
    expect(fixture.calls.at(-1)).toEqual(["onDeclined", { declineCode: "processing_unavailable" }]);
    fixture.service.onSubmit = () => fixture.service.succeed();
    await payAgain();
    await fixture.called("onSuccess");
  });

  it("Enter in a field pays, and many presses make one session and one payment", async () => {
    await payInVain();
    fixture.service.onSubmit = () => fixture.service.succeed();
    await fixture.frame.locator("#cvc").fill("123");
    await fixture.frame.locator("#cvc").press("Enter");
    await fixture.page.evaluate("{ for (let i = 0; i < 20; i += 1) widget.submit() }");
    await fixture.called("onSuccess");
    expect(sessions).toBe(2);
    expect(fixture.service.submitted).toHaveLength(2);
  });

  it("a security code that is missing is asked for, in the session that is there", async () => {
    await payInVain();
    await pay();
    await fixture.frame.getByText("Enter all digits of the security code.").waitFor();
    await expect.poll(() => fixture.frame.locator("#cvc").evaluate((input) => input.matches(":focus"))).toBe(true);
    fixture.service.onSubmit = () => fixture.service.succeed();
    await payAgain();
    await fixture.called("onSuccess");
    expect(sessions).toBe(2);
  });

  it("a reload of the page shows the decline and a form that pays", async () => {
    await payInVain();
    await fixture.page.reload();
    await expect.poll(() => names().filter((name) => name === "onDeclined").length).toBe(2);
    await fixture.enterCard();
    fixture.service.onSubmit = () => fixture.service.succeed();
    await pay();
    await fixture.called("onSuccess");
    expect(sessions).toBe(2);
  });

  it("a bank that is asked again gets its page, and its refusal can be retried", async () => {
    await payInVain();
    fixture.service.onSubmit = () => fixture.service.ask();
    await payAgain();
    await fixture.bank.getByRole("heading").waitFor();
    await fixture.page.locator("#card .link").last().click();
    await expect.poll(alert).toBe(outcomes.declines.authentication_failed);
    fixture.service.onSubmit = () => fixture.service.succeed();
    await payAgain();
    await fixture.called("onSuccess");
    expect(names()).toEqual(["onReady", "onDeclined", "onDeclined", "onSuccess"]);
  });

  it("unmount ends it, whatever getSession still brings", async () => {
    await payInVain();
    const held = Promise.withResolvers<unknown>();
    backend = () => held.promise;
    const result = fixture.page.evaluate("widget.submit()");
    await fixture.page.getByText(english.processing).waitFor();
    await fixture.page.evaluate("widget.unmount()");
    held.resolve(await fixture.sessionOptions(`${first}2`));
    expect(await result).toEqual({ kind: "unmounted" });
    expect(await fixture.page.locator("#card").innerHTML()).toBe("");
  });
});

describe("after the session's time, with getSession", () => {
  it("the next press pays in a fresh session", async () => {
    fixture.service.expire();
    await fixture.page.goto(fixture.merchantOrigin);
    await fixture.called("onDeclined");
    await expect.poll(alert).toBe(outcomes.expiredRetry);
    fixture.service.onSubmit = () => fixture.service.succeed();
    await fixture.enterCard();
    await pay();
    await fixture.called("onSuccess");
  });
});

describe("a getSession that provides no fresh session", () => {
  const failures: readonly [string, () => Promise<unknown>, string][] = [
    ["fails", () => Promise.reject(new Error("503")), "getSession() provided no session. Error: 503"],
    ["returns nothing", async () => undefined, "must be an object"],
    ["returns a session without its secret", async () => ({ sessionId: "ps_1" }), "clientSecret must be"],
    [
      "returns the session that has ended",
      () => fixture.sessionOptions(first),
      "getSession() returned the session that has ended.",
    ],
  ];

  it.each(failures)("because it %s is reported, keeps what was entered, and is called again", async (...given) => {
    const [, fail, message] = given;
    await payInVain();
    const healthy = backend;
    backend = fail;
    await payAgain();
    await fixture.called("onError");
    const [, error] = fixture.calls.at(-1)!;
    expect(error).toEqual({ code: "session_unavailable", message: expect.stringContaining(message) });
    expect(await alert()).toBe(outcomes.declines.processing_unavailable);
    expect(await entered("cvc")).toBe("123");
    expect(await fixture.payButton.isEnabled()).toBe(true);
    backend = healthy;
    fixture.service.onSubmit = () => fixture.service.succeed();
    await pay();
    await fixture.called("onSuccess");
    expect(names()).toEqual(["onReady", "onDeclined", "onError", "onSuccess"]);
  });

  it("because it hangs is given up after 20 seconds, and called again", async () => {
    await fixture.page.clock.install();
    await payInVain();
    const healthy = backend;
    backend = () => new Promise(() => {});
    await payAgain();
    await fixture.page.getByText(english.processing).waitFor();
    expect(await fixture.page.evaluate("widget.running")).toBe(true);
    await fixture.page.clock.runFor(21_000);
    await fixture.called("onError");
    backend = healthy;
    fixture.service.onSubmit = () => fixture.service.succeed();
    await pay();
    await fixture.called("onSuccess");
  });

  it("that the service accepts is reported, and another attempt gets the next one", async () => {
    await payInVain();
    const healthy = backend;
    backend = async () => {
      const fresh = (await healthy()) as { sessionId: string; clientSecret: string };
      return { ...fresh, clientSecret: `${fresh.clientSecret}wrong` };
    };
    await payAgain();
    await fixture.called("onError");
    expect(await alert()).toBe(english.notAccepted);
    backend = healthy;
    await fixture.page.getByRole("button", { name: english.tryAgain }).click();
    await fixture.frame.locator("#number").waitFor();
    await expect.poll(() => fixture.payButton.isEnabled()).toBe(true);
    fixture.service.onSubmit = () => fixture.service.succeed();
    await fixture.enterCard();
    await pay();
    await fixture.called("onSuccess");
  });
});

describe("without getSession", () => {
  it("a decline ends the form as before", async () => {
    const { body } = await fixture.fileOf("/mount.js");
    const script = `${body}`.replace("getSession: () => askBackend(), ", "");
    fixture.merchantFiles.set("/mount.js", { contentType: "text/javascript", body: script });
    await payInVain();
    expect(await fixture.payButton.isDisabled()).toBe(true);
    await expect.poll(() => fixture.frame.locator("#number").isEditable()).toBe(false);
    expect(await entered("cvc")).toBe("123");
    expect(await fixture.page.evaluate("widget.submit()")).toMatchObject({ kind: "declined" });
    expect(sessions).toBe(1);
  });
});
