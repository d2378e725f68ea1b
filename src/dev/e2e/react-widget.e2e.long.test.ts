/** The React component from the npm package under StrictMode: the example page, and props that change. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { emulatorSession } from "../testing/checkout-emulator.ts";
import { forFile } from "../testing/for-file.ts";
import { ReactShop } from "./react-shop.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";

const example = join(import.meta.dirname, "../../../widget/react-example/checkout.tsx");

/** The test controls its props; every callback is a new function at each render and reports which session is shown. */
const changingPage = `
  import { SwitchyardWidget, type SwitchyardWidgetProps } from "@switchyard/widget/react";
  import { StrictMode, useState } from "react";
  import { createRoot } from "react-dom/client";

  type Session = Pick<SwitchyardWidgetProps, "apiBase" | "sessionId" | "clientSecret" | "vault">;
  declare const report: (name: string, result: unknown) => void;
  declare const fresh: Session | undefined;

  function Page({ first }: { first: Session }) {
    const [session, setSession] = useState(first);
    Object.assign(window, { setSession });
    const say = (name: string) => () => report(name, session.sessionId);
    const retry = typeof fresh === "object" && {
      onError: say("onError"),
      getSession: async () => {
        setSession(fresh);
        return fresh;
      },
    };
    return (
      <SwitchyardWidget {...session} {...retry} onSuccess={say("onSuccess")} onDeclined={say("onDeclined")} onReady={say("onReady")} />
    );
  }
  const element = document.getElementById("root")!;
  const root = createRoot(element, { onUncaughtError: (error) => report("error", String(error)) });
  Object.assign(window, { root });
  root.render(<StrictMode><Page first={JSON.parse(element.dataset.session!)} /></StrictMode>);
`;

let fixture: WidgetFixture;

const checkout = await readFile(example, "utf8");
const [stage, shop] = await Promise.all([
  forFile(() => WidgetStage.build()),
  ReactShop.make({ checkout, changing: changingPage }),
]);
afterAll(() => shop.remove());
beforeEach(async () => {
  fixture = await WidgetFixture.open(stage);
});
afterEach(() => fixture?.close());

async function open(page: "checkout" | "changing"): Promise<void> {
  const session = JSON.stringify(fixture.mountOptions).replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const root = `<div id="root" data-session="${session}"></div>`;
  const script = `<script type="module" src="/${page}.js"></script>`;
  fixture.merchantFiles.set("/", {
    contentType: "text/html",
    body: `<!doctype html><title>Shop</title>${root}${script}`,
  });
  for (const [name, body] of await shop.scripts()) {
    fixture.merchantFiles.set(`/${name}`, { contentType: "text/javascript", body });
  }
  await fixture.page.goto(fixture.merchantOrigin);
}

const payButton = () => fixture.page.getByRole("button", { name: "Pay €49.00", disabled: false });
const outcomeIs = (text: string) => fixture.page.locator("#outcome").getByText(text).waitFor();
const frames = () => fixture.page.locator("iframe").count();

async function pay(): Promise<void> {
  await payButton().waitFor();
  await fixture.enterCard();
  await payButton().click();
}

async function setSession(number: number): Promise<void> {
  await fixture.page.evaluate(`setSession(${JSON.stringify(await fixture.sessionOptions(emulatorSession + number))})`);
}

describe("the React example", () => {
  it("accepts another card after a decline, in one form, with one submission each", async () => {
    fixture.service.onSubmit = () => fixture.service.decline("insufficient_funds");
    const fresh = JSON.stringify(await fixture.sessionOptions(`${emulatorSession}2`));
    fixture.merchantFiles.set("/sessions", { contentType: "application/json", body: fresh });
    await open("checkout");
    await pay();
    await outcomeIs("Declined: insufficient_funds");
    expect(await frames()).toBe(1);

    fixture.service.reopen();
    fixture.service.onSubmit = () => fixture.service.succeed();
    await pay();
    await outcomeIs("Paid via SANDBOX_B");
    expect(await frames()).toBe(1);
    expect(fixture.service.submitted).toHaveLength(2);
  });
});

describe("SwitchyardWidget", () => {
  it("is ready once, although StrictMode mounts it twice", async () => {
    await open("changing");
    await fixture.called("onReady");
    expect(fixture.calls).toEqual([["onReady", emulatorSession]]);
  });

  it("shows a new session after the running payment's decline, which the latest callbacks receive", async () => {
    await open("changing");
    await pay();
    await expect.poll(() => fixture.service.submitted.length).toBe(1);
    const reopened = Promise.withResolvers<void>();
    // The emulator has one session for both: the second one's read waits until it is open.
    await fixture.page.route("**/GetCheckout", async (route) => {
      if (route.request().postData()?.includes(`${emulatorSession}2`)) await reopened.promise;
      await route.continue();
    });
    await setSession(2);
    expect(await fixture.page.getByText("Processing your payment").count()).toBe(1);
    fixture.service.decline("card_declined");
    await fixture.called("onDeclined");
    fixture.service.reopen();
    reopened.resolve();
    await payButton().waitFor();
    fixture.service.onSubmit = () => fixture.service.succeed();
    await pay();
    await fixture.called("onSuccess");
    const second = `${emulatorSession}2`;
    expect(fixture.calls.filter(([name]) => name !== "onReady")).toEqual([
      ["onDeclined", second],
      ["onSuccess", second],
    ]);
  });

  it("shows no other form after a success, whatever props the page sets meanwhile", async () => {
    await open("changing");
    await pay();
    await expect.poll(() => fixture.service.submitted.length).toBe(1);
    await setSession(2);
    fixture.service.succeed();
    await fixture.called("onSuccess");
    await fixture.page.getByText("Payment complete.").waitFor();
    expect(await payButton().count()).toBe(0);
    expect(fixture.callNames).toEqual(["onReady", "onSuccess"]);
  });

  it("keeps the success visible when the page sets a session afterwards", async () => {
    await open("changing");
    await pay();
    await expect.poll(() => fixture.service.submitted.length).toBe(1);
    fixture.service.succeed();
    await fixture.called("onSuccess");
    fixture.service.reopen();
    const { looks } = fixture.service;
    await setSession(2);
    // An update would have emptied the form by now: it does so in the render's own effects.
    await fixture.page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))");
    await fixture.page.getByText("Payment complete.").waitFor();
    expect(await payButton().count()).toBe(0);
    expect(fixture.service.looks).toBe(looks);
  });

  it("keeps what was entered when getSession's session is also set as a prop", async () => {
    const second = JSON.stringify(await fixture.sessionOptions(`${emulatorSession}2`));
    await fixture.page.addInitScript(`globalThis.fresh = ${second}`);
    fixture.service.onSubmit = () => fixture.service.decline("card_declined");
    await open("changing");
    await pay();
    await fixture.called("onDeclined");
    fixture.service.reopen();
    fixture.service.onSubmit = () => fixture.service.succeed();
    // Without the security code: the form asks for it, in the session that is there.
    await payButton().click();
    await fixture.called("onError");
    await fixture.frame.locator("#cvc").fill("123");
    await payButton().click();
    await fixture.called("onSuccess");
    expect(fixture.callNames).toEqual(["onReady", "onDeclined", "onError", "onSuccess"]);
  });

  it("ends a payment with its component, without any callback", async () => {
    await open("changing");
    await pay();
    await expect.poll(() => fixture.service.submitted.length).toBe(1);
    await fixture.page.evaluate("root.unmount()");
    expect(await fixture.page.locator("#root").innerHTML()).toBe("");
    fixture.service.succeed();
    await open("changing");
    await fixture.called("onSuccess");
    expect(fixture.callNames.filter((name) => name === "onSuccess")).toHaveLength(1);
  });

  it("passes a wrong option to the error boundary", async () => {
    fixture.mountOptions.apiBase = "http://pay.example";
    await open("changing");
    await fixture.called("error");
    expect(String(fixture.calls[0]?.[1])).toContain("apiBase must be https");
  });
});
