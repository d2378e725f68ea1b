/** Plays a customer whom the bank asks: answers, fails, cancels, returns twice or not at all, comes late or never. */
import { setTimeout as pause } from "node:timers/promises";
import { unreachable } from "../../../platform/errors.ts";
import type { Dice } from "../dice.ts";
import type { Browser, Heard } from "./browser.ts";

/** The browser as the page describes it: with it, gateways may ask the customer. */
export const describedBrowser = {
  javaEnabled: false,
  colorDepth: 24,
  screenWidth: 1_280,
  screenHeight: 800,
  timeZoneOffsetMinutes: -60,
  language: "de-AT",
};

/** A challenge, and the ways in which the customer meets it. */
export type Challenge = {
  readonly browser: Browser;
  readonly edges: readonly string[];
  readonly authenticationId: string;
  /** Calls a rpc of the checkout for the session. */
  readonly call: (rpc: string, fields: object) => Promise<Heard | undefined>;
  /** Acts once the time to answer is over. */
  readonly later: (act: () => Promise<void>) => void;
};

const passingCode = { code: "123456" };
const answersMax = 3;

/** Meets a challenge in one of the customers' manners. Returns false if the customer leaves the page. */
export async function meet(challenge: Challenge, dice: Dice): Promise<boolean> {
  const manner = dice.weighted([
    [48, "answers"],
    [10, "returns twice"],
    [8, "does not return"],
    [8, "fails"],
    [6, "cancels at the bank"],
    [4, "cancels"],
    [4, "cancels and passes"],
    [7, "late"],
    [5, "leaves"],
  ] as const);
  challenge.browser.note(`customer ${manner}`);
  const page = await show(challenge, dice);
  if (page === undefined) return true;
  const answerAndReturn = async (form: Record<string, string>, returns = 1) => {
    const back = await answer(challenge, page, form);
    const edges = dice.shuffled(challenge.edges).slice(0, returns);
    if (back !== undefined) await Promise.all(edges.map((edge) => comeBack(challenge, edge, back)));
  };
  if (manner === "leaves") return false;
  if (manner === "late") {
    challenge.later(() => answerAndReturn(passingCode));
    return false;
  }
  await pause(dice.between(100, 3_000));
  switch (manner) {
    case "answers":
      await answerAndReturn(passingCode);
      return true;
    case "returns twice":
      await answerAndReturn(passingCode, 2);
      return true;
    case "does not return":
      await answerAndReturn(passingCode, 0);
      return true;
    case "fails":
      await answerAndReturn({ code: "0" });
      return true;
    case "cancels at the bank":
      await answerAndReturn({ cancel: "1" });
      return true;
    case "cancels":
      await cancel(challenge);
      return true;
    case "cancels and passes":
      await Promise.all([cancel(challenge), answerAndReturn(passingCode)]);
      return true;
    default:
      return unreachable(manner);
  }
}

/** Opens the action as a page does. Returns the address of the bank's page; undefined where the action has ended. */
async function show({ browser, call, edges, authenticationId }: Challenge, dice: Dice): Promise<string | undefined> {
  for (let opened = 0; opened < answersMax; opened++) {
    const ticket = (await call("OpenAction", { authenticationId }))?.json.ticket;
    if (ticket === undefined) continue;
    const url = `${dice.pick(edges)}/authentication/test/open`;
    const shown = await browser.post("open action", { url, bearer: "", body: { ticket } });
    if (shown?.status === 200) return String(shown.json.url);
  }
  return undefined;
}

/** Answers at the bank. Returns the address to which the bank returns the customer. */
async function answer({ browser }: Challenge, page: string, form: Record<string, string>): Promise<URL | undefined> {
  for (let sent = 0; sent < answersMax; sent++) {
    const location = await browser.submitForm("bank", page, form);
    if (location !== undefined) return new URL(location);
    await pause(500);
  }
  return undefined;
}

async function comeBack({ browser }: Challenge, edge: string, { pathname, search }: URL): Promise<void> {
  await browser.submitForm("return", `${edge}${pathname}${search}`, {});
}

async function cancel({ call, authenticationId }: Challenge): Promise<void> {
  await call("CancelAction", { authenticationId });
}
