/** Payments whose connection, page or service fails during the submission, many at once. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { PaymentSessionJson } from "../../../gen/payments/v1/payment_session_pb.ts";
import type { Demo } from "../../demo/demo.ts";
import { unreachable } from "../../platform/errors.ts";
import type { SandboxControl } from "../testing/sandbox-control.ts";
import { TcpGate } from "../testing/tcp-gate.ts";
import type { OpenedSession } from "./api-checkout.ts";
import { PlainShop, type ReceivedCallback } from "./plain-shop.ts";

/** The failure: the connection for ten seconds, the page, or the service. */
export type Trouble = "offline" | "reload" | "restart";

/** The parts that the runs need; nothing else may pay at this demo meanwhile. */
export type TroubleGround = {
  readonly demo: Demo;
  readonly sandbox: SandboxControl;
  readonly shop: PlainShop;
  readonly browser: Browser;
  /** Between the pages and the edge. */
  readonly line: TcpGate;
};

/** Opens the ground at a demo; close it before the demo. */
export async function openGround(
  demo: Demo & { readonly sandbox: SandboxControl },
  browser: Browser,
): Promise<TroubleGround & { close(): Promise<void> }> {
  const line = await TcpGate.open({ host: "127.0.0.1", port: Number(new URL(demo.file.connectOrigin).port) });
  const shop = await PlainShop.start(demo.file, `http://localhost:${line.port}`);
  return {
    demo,
    sandbox: demo.sandbox,
    browser,
    line,
    shop,
    async close() {
      await shop.close();
      await line.close();
    },
  };
}

/** A payment: its page's callbacks, the true outcome, and the number of captures. */
export type TroubleRun = {
  readonly sessionId: string;
  /** The callbacks of each load of its page. */
  readonly loads: readonly (readonly ReceivedCallback[])[];
  readonly status: PaymentSessionJson["status"];
  readonly captures: number;
};

// Approved, failed over after a decline, and declined permanently, so that a wrong callback shows.
const cards = ["4242424242424242", "4000000000000002", "4100000000000019"];
const offlineMs = 10_000;
// A killed edge's payment goes to a worker when its lease has expired; after that it is read every five seconds.
const endedWithinMs = 120_000;
const lookEveryMs = 250;

type Customer = {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly session: OpenedSession;
};

/** Plays this many payments at once through one failure. Throws if a page receives no outcome. */
export async function playTrouble(ground: TroubleGround, trouble: Trouble, payments: number): Promise<TroubleRun[]> {
  const customers = await Promise.all(Array.from({ length: payments }, (_, number) => enter(ground, number)));
  try {
    await ground.sandbox.hold("a.authorize");
    await Promise.all(customers.map(({ page }) => page.getByRole("button").click()));
    await Promise.all(customers.map(({ session }) => until(() => isBeingPaid(ground, session), "the submission")));
    await strike(ground, trouble, customers);
    await Promise.all(customers.map(({ session }) => until(() => hasEnd(ground, session), "the outcome")));
    // A callback that is too early is wrong: the truth is the end of the session.
    await Promise.all(customers.map(({ session }) => until(() => isSettled(ground, session), "the session's end")));
    return await Promise.all(customers.map(({ session }) => look(ground, session)));
  } finally {
    await ground.sandbox.release();
    await Promise.all(customers.map(({ context }) => context.close()));
  }
}

/**
 * Describes the problem of a run; undefined if the one callback, of all loads of the page, was true and no money was
 * captured twice.
 */
export function problemOf({ sessionId, loads, status, captures }: TroubleRun): string | undefined {
  const isEnd = ({ name }: ReceivedCallback) => ["onSuccess", "onDeclined", "onExpired"].includes(name);
  const ends = loads.map((callbacks) => callbacks.filter(isEnd)).filter((of) => of.length > 0);
  const name = status === "SUCCEEDED" ? "onSuccess" : "onDeclined";
  const isTrue = ends.length === 1 && ends[0]?.length === 1 && ends[0][0]?.name === name;
  const isTakenRightly = captures === (status === "SUCCEEDED" ? 1 : 0);
  if (isTrue && isTakenRightly) return undefined;
  const words = ends.map((of) => of.map((end) => end.name).join(" and ")).join("; another load ") || "nothing";
  return `${sessionId}: ${status}, callbacks ${words}, ${captures} captures`;
}

async function enter({ shop, browser }: TroubleGround, number: number): Promise<Customer> {
  const { session, url } = await shop.sell();
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(endedWithinMs);
  // A machine that is busy with all of them may be too slow for one, and its customer follows the form's advice.
  await page.addLocatorHandler(page.getByRole("button", { name: "Try again" }), (again) => again.click());
  await page.goto(url);
  try {
    await enterCard(page, cards[number % cards.length]!);
    await page.getByRole("button", { name: "Pay €49.00" }).waitFor();
  } catch (cause) {
    throw new Error(`no form came; the page received ${JSON.stringify(shop.resultsOf(session))}`, { cause });
  }
  return { context, page, session };
}

export async function enterCard(page: Page, number: string): Promise<void> {
  const frame = page.frameLocator("iframe");
  await frame.getByLabel("Card number").fill(number);
  await frame.locator("#expiry").fill("04/31");
  await frame.locator("#cvc").fill("123");
}

async function strike(ground: TroubleGround, trouble: Trouble, customers: readonly Customer[]): Promise<void> {
  const { sandbox, demo, line } = ground;
  switch (trouble) {
    case "offline":
      // The service's answers are under way, and no client receives them.
      void line.holdAt("out", "HTTP/1.1");
      await Promise.all(customers.map(({ context }) => context.setOffline(true)));
      await sandbox.release();
      // First nothing arrives, then everything fails at once, then all is well again.
      await pause(offlineMs / 2);
      line.cut();
      await pause(offlineMs / 2);
      await Promise.all(customers.map(({ context }) => context.setOffline(false)));
      return;
    case "reload":
      await Promise.all(customers.map(({ page }) => page.reload()));
      await sandbox.release();
      return;
    case "restart":
      process.kill(demo.file.pids.edge!, "SIGKILL");
      await sandbox.release();
      await demo.restart("edge");
      return;
    default:
      return unreachable(trouble);
  }
}

async function isBeingPaid({ shop }: TroubleGround, { sessionId }: OpenedSession): Promise<boolean> {
  const { processing, attempts = [] } = await shop.api.read(sessionId);
  return processing === true && attempts.length > 0;
}

async function hasEnd({ shop }: TroubleGround, session: OpenedSession): Promise<boolean> {
  return shop.resultsOf(session).some(({ name }) => name === "onSuccess" || name === "onDeclined");
}

async function isSettled({ shop }: TroubleGround, { sessionId }: OpenedSession): Promise<boolean> {
  return (await shop.api.read(sessionId)).status !== "CREATED";
}

async function look({ shop, sandbox }: TroubleGround, session: OpenedSession): Promise<TroubleRun> {
  const { sessionId } = session;
  const { status, attempts = [] } = await shop.api.read(sessionId);
  const records = await Promise.all(attempts.map(({ attemptId = "" }) => sandbox.authorizations(attemptId)));
  const captures = records.flat().filter((record) => record.status === "captured").length;
  return { sessionId, loads: shop.callbacksByLoad(session), status, captures };
}

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const giveUpAt = performance.now() + endedWithinMs;
  while (!(await isSo())) {
    if (performance.now() > giveUpAt) throw new Error(`${what} did not come within ${endedWithinMs / 1_000} s`);
    await pause(lookEveryMs);
  }
}

const pause = (durationMs: number) => new Promise((resolve) => setTimeout(resolve, durationMs));
