/**
 * The customer of a played payment: looks at the page that a gateway wants shown, and answers at the sandbox bank, late,
 * or not at all.
 */
import type { Core } from "../../../core/core.ts";
import {
  cancelAction,
  findOpenAction,
  openAction,
  takeReturn,
  useActionTicket,
} from "../../../core/customer-actions.ts";
import { loadSession } from "../../../core/record/load-session.ts";
import { resumeSession } from "../../../core/submit-payment.ts";
import { DomainError, unreachable } from "../../../platform/errors.ts";
import { answerAtBank } from "../../testing/bank-customer.ts";
import type { Dice } from "../dice.ts";

/** A browser that can show actions, and what its call says about it. */
export const shopper = {
  browser: {
    javaEnabled: false,
    colorDepth: 24,
    screenWidth: 1_280,
    screenHeight: 800,
    timeZoneOffsetMinutes: -60,
    language: "de-AT",
  },
  shopperUserAgent: "Mozilla/5.0 (X11; Linux x86_64)",
};

// A fault may lose the bank's answer; an honest one takes a few milliseconds.
const answerMs = 400;

type Page = { readonly authenticationId: string; readonly url: string };

export class Customer {
  readonly #dice: Dice;
  readonly #seen = new Set<string>();
  #pages: readonly Page[] = [];

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /**
   * Looks at the current action, and answers each page that is still open at the bank, also of an action that was given
   * up.
   */
  async act(core: Core, sessionId: string): Promise<void> {
    await this.#look(core, sessionId);
    const left: Page[] = [];
    for (const page of this.#pages) if (!(await this.#answer(core, sessionId, page))) left.push(page);
    this.#pages = left;
  }

  async #look(core: Core, sessionId: string): Promise<void> {
    const { session } = await loadSession(core.database, sessionId);
    const open = await findOpenAction(core, session);
    if (open === undefined || this.#seen.has(open.id)) return;
    const authenticationId = open.id;
    await unlessOver(async () => {
      const { url } = await useActionTicket(core, await openAction(core, { sessionId, authenticationId }));
      this.#seen.add(authenticationId);
      this.#pages = [...this.#pages, { authenticationId, url }];
    });
  }

  /** Returns true if nothing more is done with the page. */
  async #answer(core: Core, sessionId: string, { authenticationId, url }: Page): Promise<boolean> {
    const dice = this.#dice;
    const answer = dice.weighted([
      [50, "pass"],
      [8, "fail"],
      [6, "cancel"],
      [10, "giveUp"],
      [6, "leave"],
      [20, "wait"],
    ] as const);
    switch (answer) {
      case "wait":
        return false;
      case "leave":
        return true;
      case "giveUp":
        await unlessOver(() => cancelAction(core, { sessionId, authenticationId }));
        // Half of them have the bank's page still open.
        return dice.chance(0.5);
      case "pass":
      case "fail":
      case "cancel": {
        const returned = await answerUnderFaults(url, answer, answerMs);
        if (returned === undefined) return false;
        if (dice.chance(0.7)) await this.#comeBack(core, returned);
        return true;
      }
      default:
        return unreachable(answer);
    }
  }

  /** Follows the bank's return once or twice; a process takes the session up at once, or recovery does. */
  async #comeBack(core: Core, { pathname, searchParams }: URL): Promise<void> {
    const token = pathname.split("/").at(-1) ?? "";
    const times = this.#dice.chance(0.2) ? 2 : 1;
    for (let time = 0; time < times; time++) {
      const sessionId = await takeReturn(core, token, searchParams);
      if (sessionId !== undefined && this.#dice.chance(0.5)) await resumeSession(core, sessionId);
    }
  }
}

/** Returns the address to which the bank returns the customer; undefined if an answer of its was lost or spoilt. */
function answerUnderFaults(...asked: Parameters<typeof answerAtBank>): Promise<URL | undefined> {
  return answerAtBank(...asked).catch(() => undefined);
}

async function unlessOver(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
  }
}
