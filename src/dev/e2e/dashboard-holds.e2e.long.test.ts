/** Held payments in the dashboard, in Chromium over a whole demo: captured in part, cancelled, and listed. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { expectSound, openDashboard } from "./dashboard-page.ts";

// Axe looks at every state in each look, on a machine that may have much else to do.
const patienceMs = 120_000;
const approved = "4242424242424242";

const { checkout, open } = await openDashboard({ locale: "en-GB" });
const dialog = (page: Page) => page.getByRole("dialog");
const hold = (orderRef: string) => checkout.pay(approved, { orderRef, capture: "manual" });

describe("a held payment in the browser", () => {
  it("is captured in part, once", { timeout: patienceMs }, async () => {
    const { sessionId } = await hold("held-1");
    const page = await open(`payments/${sessionId}`);
    await page.getByText(/^Held until/).waitFor();
    await expectSound(page);
    await page.getByRole("button", { name: "Capture" }).click();
    await dialog(page).getByLabel("Amount in EUR").fill("49.01");
    await dialog(page).getByRole("button", { name: "Continue" }).click();
    await dialog(page).getByText("Enter an amount above zero, up to 49.00 EUR.").waitFor();
    await dialog(page).getByText("Enter a reason.").waitFor();
    await dialog(page).getByLabel("Amount in EUR").fill("9");
    await dialog(page).getByLabel("Reason").fill("shipped");
    await expectSound(page);
    await dialog(page).getByRole("button", { name: "Continue" }).click();
    await dialog(page).getByRole("heading", { name: "Capture €9.00 at Sandbox A?" }).waitFor();
    await expectSound(page);
    await dialog(page).getByRole("button", { name: "Capture €9.00" }).dblclick();
    await dialog(page).waitFor({ state: "detached" });
    await page.getByRole("heading", { name: /Succeeded/ }).waitFor();
    await page.getByText("Asked for the capture of 9.00 EUR").waitFor();
    expect(await checkout.read(sessionId!)).toMatchObject({ status: "SUCCEEDED", amountCapturedMinor: 900 });
    await page.close();
  });

  it("is found in the list of holds, and cancelled", { timeout: patienceMs }, async () => {
    const { sessionId } = await hold("held-2");
    const page = await open("payments?status=held");
    await page.getByText("held-2").waitFor();
    await expectSound(page);
    await page.goto(page.url().replace("payments?status=held", `payments/${sessionId}`));
    await page.getByRole("button", { name: "Cancel payment" }).click();
    await dialog(page).getByLabel("Reason").fill("out of stock");
    await dialog(page).getByRole("button", { name: "Continue" }).click();
    await dialog(page).getByRole("button", { name: "Cancel €49.00" }).click();
    await page.getByRole("heading", { name: /Cancelled/ }).waitFor();
    await page.getByText("Cancelled the payment", { exact: true }).waitFor();
    const read = { status: "DECLINED", declineCode: "capture_cancelled" };
    expect(await checkout.read(sessionId!)).toMatchObject(read);
    await page.close();
  });
});
