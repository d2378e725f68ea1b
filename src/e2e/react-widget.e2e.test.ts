/** The React component from the npm package, in a real browser under StrictMode: the example page, and props that change. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { standInSession } from "../testing/checkout-stand-in.ts";
import { ReactShop } from "./react-shop.ts";
import { WidgetScene, WidgetStage } from "./widget-scene.ts";

const example = join(import.meta.dirname, "..", "..", "widget", "react-example", "checkout.tsx");

/** Its props are in the test's hands; every callback is a new function at each render and tells which session is shown. */
const changingPage = `
  import { SwitchyardWidget, type SwitchyardWidgetProps } from "@switchyard/widget/react";
  import { StrictMode, useState } from "react";
  import { createRoot } from "react-dom/client";

  type Session = Pick<SwitchyardWidgetProps, "apiBase" | "sessionId" | "clientSecret" | "vault">;
  declare const tell: (name: string, result: unknown) => void;

  function Page({ first }: { first: Session }) {
    const [session, setSession] = useState(first);
    Object.assign(window, { setSession });
    const say = (name: string) => () => tell(name, session.sessionId);
    return (
      <SwitchyardWidget {...session} onSuccess={say("onSuccess")} onDeclined={say("onDeclined")} onReady={say("onReady")} />
    );
  }
  const element = document.getElementById("root")!;
  const root = createRoot(element, { onUncaughtError: (error) => tell("error", String(error)) });
  Object.assign(window, { root });
  root.render(<StrictMode><Page first={JSON.parse(element.dataset.session!)} /></StrictMode>);
`;

let shop: ReactShop;
let stage: WidgetStage;
let scene: WidgetScene;

beforeAll(async () => {
  const checkout = await readFile(example, "utf8");
  [stage, shop] = await Promise.all([WidgetStage.build(), ReactShop.make({ checkout, changing: changingPage })]);
});
afterAll(async () => {
  await stage?.close();
  await shop?.remove();
});
beforeEach(async () => {
  scene = await WidgetScene.open(stage);
});
afterEach(() => scene?.close());

async function open(page: "checkout" | "changing"): Promise<void> {
  const session = JSON.stringify(scene.mountOptions).replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const root = `<div id="root" data-session="${session}"></div>`;
  const script = `<script type="module" src="/${page}.js"></script>`;
  scene.merchantFiles.set("/", {
    contentType: "text/html",
    body: `<!doctype html><title>Shop</title>${root}${script}`,
  });
  for (const [name, body] of await shop.scripts()) {
    scene.merchantFiles.set(`/${name}`, { contentType: "text/javascript", body });
  }
  await scene.page.goto(scene.merchantOrigin);
}

const payButton = () => scene.page.getByRole("button", { name: "Pay €49.00", disabled: false });
const outcomeIs = (text: string) => scene.page.locator("#outcome").getByText(text).waitFor();
const frames = () => scene.page.locator("iframe").count();

async function pay(): Promise<void> {
  await payButton().waitFor();
  await scene.enterCard();
  await payButton().click();
}

async function setSession(number: number): Promise<void> {
  await scene.page.evaluate(`setSession(${JSON.stringify(await scene.sessionOptions(standInSession + number))})`);
}

describe("the React example", () => {
  it("takes another card after a decline, in one form, with one submission each", async () => {
    scene.service.onSubmit = () => scene.service.decline("insufficient_funds");
    const fresh = JSON.stringify(await scene.sessionOptions(`${standInSession}2`));
    scene.merchantFiles.set("/sessions", { contentType: "application/json", body: fresh });
    await open("checkout");
    await pay();
    await outcomeIs("Declined: insufficient_funds");
    expect(await frames()).toBe(1);

    scene.service.reopen();
    scene.service.onSubmit = () => scene.service.succeed();
    await scene.page.getByRole("button", { name: "Try another card" }).click();
    await pay();
    await outcomeIs("Paid via SANDBOX_B");
    expect(await frames()).toBe(1);
    expect(scene.service.submitted).toHaveLength(2);
  });
});

describe("SwitchyardWidget", () => {
  it("is ready once, although StrictMode mounts it twice", async () => {
    await open("changing");
    await scene.told("onReady");
    expect(scene.calls).toEqual([["onReady", standInSession]]);
  });

  it("shows a new session after the running payment's decline, which the latest callbacks hear", async () => {
    await open("changing");
    await pay();
    await expect.poll(() => scene.service.submitted.length, { timeout: 10_000 }).toBe(1);
    const reopened = Promise.withResolvers<void>();
    // The stand-in has one session for both: the second one's look waits until it is open.
    await scene.page.route("**/GetCheckout", async (route) => {
      if (route.request().postData()?.includes(`${standInSession}2`)) await reopened.promise;
      await route.continue();
    });
    await setSession(2);
    expect(await scene.page.getByText("Processing your payment").count()).toBe(1);
    scene.service.decline("card_declined");
    await scene.told("onDeclined");
    scene.service.reopen();
    reopened.resolve();
    await payButton().waitFor();
    scene.service.onSubmit = () => scene.service.succeed();
    await pay();
    await scene.told("onSuccess");
    const second = `${standInSession}2`;
    expect(scene.calls.filter(([name]) => name !== "onReady")).toEqual([
      ["onDeclined", second],
      ["onSuccess", second],
    ]);
  });

  it("shows no other form after a success, whatever the page hands it meanwhile", async () => {
    await open("changing");
    await pay();
    await expect.poll(() => scene.service.submitted.length, { timeout: 10_000 }).toBe(1);
    await setSession(2);
    scene.service.succeed();
    await scene.told("onSuccess");
    await scene.page.getByText("Payment complete.").waitFor();
    expect(await payButton().count()).toBe(0);
    expect(scene.callNames).toEqual(["onReady", "onSuccess"]);
  });

  it("keeps the success in sight when the page hands it a session afterwards", async () => {
    await open("changing");
    await pay();
    await expect.poll(() => scene.service.submitted.length, { timeout: 10_000 }).toBe(1);
    scene.service.succeed();
    await scene.told("onSuccess");
    scene.service.reopen();
    const { looks } = scene.service;
    await setSession(2);
    // An update would have emptied the form by now: it does so in the render's own effects.
    await scene.page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))");
    await scene.page.getByText("Payment complete.").waitFor();
    expect(await payButton().count()).toBe(0);
    expect(scene.service.looks).toBe(looks);
  });

  it("lets go of a payment with its component, without a word", async () => {
    await open("changing");
    await pay();
    await expect.poll(() => scene.service.submitted.length, { timeout: 10_000 }).toBe(1);
    await scene.page.evaluate("root.unmount()");
    expect(await scene.page.locator("#root").innerHTML()).toBe("");
    scene.service.succeed();
    await open("changing");
    await scene.told("onSuccess");
    expect(scene.callNames.filter((name) => name === "onSuccess")).toHaveLength(1);
  });

  it("hands a wrong option to the error boundary", async () => {
    scene.mountOptions.apiBase = "http://pay.example";
    await open("changing");
    await scene.told("error");
    expect(String(scene.calls[0]?.[1])).toContain("apiBase must be https");
  });
});
