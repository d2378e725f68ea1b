import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { createDashboardClient } from "../../client/dashboard-client.ts";
import { Secret } from "../../platform/secrets.ts";
import { expectSound, openDashboard } from "./dashboard-page.ts";
import type { Look } from "./each-look.ts";

// Each test goes through several pages, on a machine that may be busy.
const patienceMs = 90_000;

const { demo, checkout, context, open, urlOf } = await openDashboard();
// SANDBOX_A captures one; the other fails over to SANDBOX_B.
await Promise.all([checkout.pay("4242424242424242"), checkout.pay("4000000000000002")]);
const page = await open("routing");

const list = (on: Page) => on.getByRole("grid", { name: "Order" });
const orderOf = (on: Page) => list(on).locator("strong").allTextContents();
const expectOrder = (on: Page, names: string[]) => expect.poll(() => orderOf(on)).toEqual(names);
const expectFocus = (label: RegExp) =>
  expect.poll(() => page.evaluate(() => document.activeElement?.ariaLabel)).toMatch(label);
const unsaved = (on: Page) => on.getByRole("region", { name: "Unsaved changes" });
const region = (name: string) => page.getByRole("region", { name });
const tab = (name: string) =>
  page.getByRole("navigation", { name: "Routing" }).getByRole("link", { name, exact: true }).click();

describe("the routing page", () => {
  it(
    "is put in order by the keyboard alone, says what is not saved, and saves it as a new version",
    async () => {
      await expectOrder(page, ["Sandbox A", "Sandbox B"]);
      // A key goes to the focus, which follows the key before in the browser's own time.
      const press = async (key: string, focused: RegExp) => {
        await page.keyboard.press(key);
        await expectFocus(focused);
      };
      await list(page)
        .getByRole("row", { name: /Sandbox A/ })
        .focus();
      await press("ArrowDown", /^Sandbox B/);
      await press("Tab", /^Drag Sandbox B/);
      await press("Enter", /^Insert after Sandbox B/);
      await press("ArrowUp", /^Insert between/);
      await press("ArrowUp", /^Insert before Sandbox A/);
      await page.keyboard.press("Enter");
      await expectOrder(page, ["Sandbox B", "Sandbox A"]);
      await unsaved(page).getByRole("listitem").nth(1).waitFor();
      expect(await unsaved(page).getByRole("listitem").allTextContents()).toEqual([
        expect.stringMatching(/^Sandbox B \(.*\) moves from priority 2 to 1\.$/),
        expect.stringMatching(/^Sandbox A \(.*\) moves from priority 1 to 2\.$/),
      ]);
      await unsaved(page).getByRole("button", { name: "Save as version 2" }).click();
      await unsaved(page).waitFor({ state: "detached" });
      await page.getByText("Version 2 in use", { exact: true }).waitFor();
    },
    patienceMs,
  );

  it(
    "asks before changes are left, and names the other person who saved meanwhile",
    async () => {
      // Of this one the drag and drop, and the result of a simulation, cannot be loaded.
      await context.route(/(drag-list|what-if-result)-\w+\.js$/, (route) => route.fulfill({ status: 403 }));
      const other = await open("routing");
      await page.getByRole("switch", { name: /Timeouts/ }).click();
      await page.getByRole("link", { name: "Team" }).click();
      const question = page.getByRole("alertdialog", { name: "Leave without saving?" });
      await question.getByRole("button", { name: "Stay" }).click();
      await other.getByRole("button", { name: /^Move Sandbox A .* up$/ }).click();
      await other.getByRole("button", { name: "Simulate" }).click();
      await other.getByText("The result cannot be shown").waitFor();
      await other.getByRole("button", { name: "Save as version 3" }).click();
      await other.getByText("Version 3 in use", { exact: true }).waitFor();
      await other.close();
      await context.unrouteAll();
      await page.getByRole("button", { name: "Save as version 3" }).click();
      const conflict = page.getByRole("alertdialog", { name: "The rule has changed" });
      await conflict.getByText(`Version 3 was set by ${demo.file.member.email}`).waitFor();
      await conflict.getByText(/Sandbox A .* moves from priority 2 to 1/).waitFor();
      await conflict.getByRole("button", { name: "Keep my changes" }).click();
      await unsaved(page).getByRole("button", { name: "Save as version 4" }).waitFor();
      await unsaved(page).getByText("Timeouts end the payment.").waitFor();
      await unsaved(page).getByRole("button", { name: "Discard" }).click();
      await expectOrder(page, ["Sandbox A", "Sandbox B"]);
    },
    patienceMs,
  );

  it(
    "simulates the route of a payment and past payments, and restores an older version",
    async () => {
      const tester = region("Test a payment");
      await tester.getByText("Rule version 3 fails over to Sandbox B after a hard decline at Sandbox A.").waitFor();
      await tester.getByLabel("Each gateway answers with").selectOption({ label: "a decline for suspected fraud" });
      await tester.getByText(/never retried on another gateway/).waitFor();
      await page.getByRole("button", { name: /^Move Sandbox B .* up$/ }).click();
      const whatIf = region("Simulate on past payments");
      await whatIf.getByRole("button", { name: "Simulate" }).click();
      // The one that SANDBOX_A captured: the answer of SANDBOX_B is unknown.
      await whatIf.getByText("50.0% – 100.0%").waitFor();
      await whatIf.getByRole("cell", { name: /Sandbox B was not called then/ }).waitFor();
      await unsaved(page).getByRole("button", { name: "Discard" }).click();
      await tab("History");
      await region("History").getByRole("button", { name: "Restore version 2" }).click();
      const question = page.getByRole("alertdialog");
      await question.getByText(/Sandbox B .* moves from priority 2 to 1/).waitFor();
      await question.getByRole("button", { name: "Restore version 2" }).click();
      await region("History")
        .getByText(/restores version 2/)
        .waitFor();
      await tab("Default");
      await expectOrder(page, ["Sandbox B", "Sandbox A"]);
    },
    patienceMs,
  );

  it(
    "lets a rule demand authentication, with its exception for pages without browser data, and a case demand it too",
    async () => {
      await tab("Authentication");
      const authentication = region("Customer authentication");
      await authentication.getByRole("radio", { name: /^Always/ }).check();
      await authentication.getByRole("checkbox", { name: /^Pay without authentication if the page sends no/ }).check();
      // Another tab keeps the changes.
      await tab("Cases");
      await page.getByRole("button", { name: "Add a case" }).click();
      const form = region("Case 1");
      await form.getByRole("button", { name: "Currency and amount", exact: true }).click();
      await form.getByLabel("Currencies").fill("EUR");
      await form.getByRole("checkbox", { name: /^Always authenticate the customer/ }).check();
      await region("Cases").getByText("always authenticated").waitFor();
      const changes = [
        /^Gateways have to authenticate the customer of every payment\.$/,
        /^A payment that has to be authenticated is made without where the page sends no data of its browser\.$/,
        /; each of its payments has to be authenticated\.$/,
      ];
      for (const change of changes) await unsaved(page).getByText(change).waitFor();
      const tester = region("Test a payment");
      await tester.getByText(/whose page sends no data of its browser is made without authentication/).waitFor();
      await unsaved(page).getByRole("button", { name: "Save as version 5" }).click();
      await unsaved(page).waitFor({ state: "detached" });
      await tab("History");
      for (const change of changes) await region("History").getByText(change).waitFor();
    },
    patienceMs,
  );
});

describe("the routing page of live", () => {
  it(
    "asks before a change is saved, and a first rule fails over after every failure that allows it",
    async () => {
      const { grpcAddress, operatorToken, merchants } = demo.file;
      const client = createDashboardClient(grpcAddress, new Secret(operatorToken));
      const scope = { merchantId: merchants[0]!.merchantId, environment: "ENVIRONMENT_LIVE" } as const;
      const account = { gateway: "SANDBOX_A", account: "live", credentials: { apiKey: "sandbox_live_first" } };
      const { connection } = await client.connections.addGatewayConnection({ ...scope, ...account });
      const connectionId = connection!.connectionId!;
      await client.connections.verifyGatewayConnection({ ...scope, connectionId, routePayments: false });
      await page.goto(urlOf("routing", "live"));
      for (const name of [/^Declines/, /^Timeouts/, /^Gateway errors/])
        expect(await page.getByRole("switch", { name }).isChecked()).toBe(true);
      await page.getByRole("button", { name: /^Add Sandbox A/ }).click();
      // A payment that cannot be tested hides no change from the question.
      await region("Test a payment").getByLabel("Currency").fill("ABC");
      await region("Test a payment").getByText("Three upper-case letters, such as EUR.").waitFor();
      const save = unsaved(page).getByRole("button", { name: "Save as version 1" });
      await save.click();
      const question = page.getByRole("alertdialog", { name: "Change the routing of live payments?" });
      await question.getByText(/^Sandbox A .* is added with priority 1\.$/).waitFor();
      await question.getByRole("button", { name: "Cancel" }).click();
      await question.waitFor({ state: "detached" });
      expect(await client.routingRules.getRoutingRule(scope)).toEqual({});
      await save.click();
      await question.getByRole("button", { name: "Save as version 1" }).click();
      await page.getByText("Version 1 in use", { exact: true }).waitFor();
      expect((await client.routingRules.getRoutingRule(scope)).routingRule).toMatchObject({
        connectionIds: [connectionId],
        failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"],
        authentication: "AS_NEEDED",
        retriesSameGateway: false,
      });
      client.close();
    },
    patienceMs,
  );
});

describe("the gateways page", () => {
  const attemptsOf = (name: RegExp) =>
    page.getByRole("region", { name }).getByText("Attempts in the last hour").locator("..");

  it(
    "connects an account, shows what the test call showed, pauses it, and keeps its credentials when new ones fail",
    async () => {
      await page.goto(urlOf("gateways"));
      await page.getByRole("button", { name: "Connect a gateway" }).click();
      const form = region("Connect a gateway");
      await form.getByLabel("Gateway", { exact: true }).selectOption({ label: "Stripe" });
      await form.getByLabel("Account name").fill("second");
      for (const field of await form.locator('input[type="password"]').all())
        await field.fill(`sk_live_${"a1".repeat(12)}`);
      await form.getByRole("button", { name: "Connect" }).click();
      await form.getByText("This is a live key. Enter a key of test mode.").waitFor();
      await form.getByLabel("Gateway", { exact: true }).selectOption({ label: "Sandbox A" });
      await form.getByLabel("Account name").fill("second");
      await form.getByLabel("API key").fill("nonsense");
      await form.getByRole("button", { name: "Connect" }).click();
      await form.getByText("Some credentials are missing or invalid.").waitFor();
      await form.getByLabel("API key").fill("sandbox_test_second");
      // New figures draw the page again: a problem that was corrected must not come back and stop the button.
      // This one is refused by both gateways, whichever is first.
      await checkout.pay("4000000000005035");
      const lookedAgain = async () => {
        await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
        return (await attemptsOf(/Sandbox B test_/).textContent()) ?? "";
      };
      await expect.poll(lookedAgain, { interval: 500 }).toContain("hour2");
      await form.getByRole("button", { name: "Connect" }).click();
      await region("Sandbox A is connected").getByRole("button", { name: "Verify now" }).click();
      await region("Sandbox A is connected").getByText("Verified: payments can be routed to it.").waitFor();
      await page.getByRole("button", { name: "Done" }).click();
      const card = region("Sandbox A second");
      await card.getByRole("button", { name: "Pause" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Pause" }).click();
      await card.getByText("Paused").waitFor();
      await card.getByRole("button", { name: "Resume" }).click();
      await card.getByText("Ready").waitFor();
      await card.getByRole("button", { name: "Change credentials" }).click();
      await card.getByLabel("API key").fill("sandbox_live_second");
      await card.getByRole("button", { name: "Verify and replace" }).click();
      await card.getByText(/These credentials are not in use/).waitFor();
      await page.reload();
      await card.getByText("Ready").waitFor();
      expect(await page.content()).not.toContain("sandbox_test_second");
      // All three payments used it.
      await attemptsOf(/Sandbox A test_/)
        .getByText("3", { exact: true })
        .waitFor();
    },
    patienceMs,
  );
});

describe("both pages", () => {
  const looks: Look[] = [
    ["light", 320],
    ["dark", 1280],
  ];
  it(
    "break no rule of WCAG 2.2 AA and scroll one way",
    async () => {
      for (const name of ["routing", "gateways"]) {
        await page.goto(urlOf(name));
        await page.locator(".way, .figures").first().waitFor();
        if (name === "gateways") await page.getByRole("button", { name: "Connect a gateway" }).click();
        else await page.getByRole("button", { name: /^Leave out Sandbox A/ }).click();
        await expectSound(page, looks);
        if (name === "routing") await unsaved(page).getByRole("button", { name: "Discard" }).click();
      }
    },
    patienceMs,
  );
});

describe("the rule for wallets' cryptograms", () => {
  it(
    "is chosen and saved as a new version",
    async () => {
      await page.goto(urlOf("routing"));
      const choice = page.getByRole("radio", { name: /Also after a decline/ });
      await choice.click();
      await unsaved(page).getByText("goes to another gateway also after a decline").waitFor();
      await unsaved(page)
        .getByRole("button", { name: /^Save as version/ })
        .click();
      await unsaved(page).waitFor({ state: "detached" });
      await page.reload();
      await choice.waitFor();
      expect(await choice.isChecked()).toBe(true);
    },
    patienceMs,
  );
});
