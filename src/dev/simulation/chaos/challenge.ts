/**
 * Plays a customer during a challenge, who answers, fails, cancels, returns twice or not at all, comes late or never.
 */
import { setTimeout as pause } from "node:timers/promises";
import { unreachable } from "../../../platform/errors.ts";
import type { Dice } from "../dice.ts";
import type { Browser, Heard } from "./browser.ts";

/** The browser as the page describes it: with it, gateways may challenge the customer. */
export const describedBrowser = {
  javaEnabled: false,
  colorDepth: 24,
  screenWidth: 1_280,
  screenHeight: 800,
  timeZoneOffsetMinutes: -60,
  language: "de-AT",
};

export type Challenge = {
  readonly browser: Browser;
  readonly edges: readonly string[];
  readonly authenticationId: string;
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
  // The bank's device check returns by itself.
  if (page === undefined || (await followPosts(challenge, dice, page))) return true;
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

/** The bank's page: its address for the answer, or its first page, which a provider's action brings. */
type BankPage = { readonly url: string; readonly page?: string };

/** The address to which the bank sends the customer, and the fields that it posts there. */
type Back = { readonly url: URL; readonly fields: Readonly<Record<string, string>> };

/** Opens the action as a page does. Returns the bank's page; undefined if the action has ended. */
async function show({ browser, call, edges, authenticationId }: Challenge, dice: Dice): Promise<BankPage | undefined> {
  for (let opened = 0; opened < answersMax; opened++) {
    const ticket = (await call("OpenAction", { authenticationId }))?.json.ticket;
    if (ticket === undefined) continue;
    const url = `${dice.pick(edges)}/authentication/test/open`;
    const shown = await browser.call("open action", { url, bearer: "", body: { ticket } });
    if (shown?.status !== 200) continue;
    const { fields } = shown.json as { fields?: Record<string, string> };
    const address = String(shown.json.url);
    if (fields === undefined || Object.keys(fields).length === 0) return { url: address };
    const { page } = (await browser.submitForm("bank page", address, fields)) ?? {};
    if (page === undefined) continue;
    const action = /<form method="post" action="(\/acs[^"]+)"/.exec(page)?.[1];
    return { url: new URL(action ?? "/", address).href, page };
  }
  return undefined;
}

/**
 * Returns the address to which a page of the bank posts by itself; undefined for a page with a question, or a blank
 * one.
 */
function postedBy(page: string): Back | undefined {
  const address = /<form method="post" action="(https?:[^"]+)"/.exec(page)?.[1];
  if (address === undefined) return undefined;
  const inputs = [...page.matchAll(/name="(\w+)" value="([^"]*)"/g)];
  return {
    url: new URL(address),
    fields: Object.fromEntries(inputs.map(([, name = "", value = ""]) => [name, value])),
  };
}

/** Lets a page post by itself, as a browser does. Returns false for a page that does not. */
async function followPosts(challenge: Challenge, dice: Dice, { page = "" }: BankPage): Promise<boolean> {
  const back = postedBy(page);
  if (back !== undefined) await comeBack(challenge, dice.pick(challenge.edges), back);
  return back !== undefined;
}

async function answer(
  { browser }: Challenge,
  { url }: BankPage,
  form: Record<string, string>,
): Promise<Back | undefined> {
  for (let sent = 0; sent < answersMax; sent++) {
    const answered = await browser.submitForm("bank", url, form);
    if (answered?.location !== undefined) return { url: new URL(answered.location), fields: {} };
    const back = answered && postedBy(answered.page);
    if (back !== undefined) return back;
    await pause(500);
  }
  return undefined;
}

async function comeBack({ browser }: Challenge, edge: string, { url, fields }: Back): Promise<void> {
  await browser.submitForm("return", `${edge}${url.pathname}${url.search}`, fields);
}

async function cancel({ call, authenticationId }: Challenge): Promise<void> {
  await call("CancelAction", { authenticationId });
}
