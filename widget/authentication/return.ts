/**
 * The page to which the bank returns the customer. In the widget's place it wakes the frame around it; in a window it
 * waits for the end and goes back to the shop.
 */

import { returnedMessage, returnToKey } from "./show-action.ts";

// Completing a payment takes a second; after this long the customer goes back all the same.
const waitMs = 20_000;
const lookEveryMs = 1_000;

if (parent === window) void goBack();
else parent.postMessage(returnedMessage, location.origin);

async function goBack(): Promise<void> {
  const back = sessionStorage.getItem(returnToKey);
  const link = document.querySelector("a")!;
  if (back !== null) {
    link.href = back;
    link.hidden = false;
  }
  const until = performance.now() + waitMs;
  while (!(await isOver()) && performance.now() < until) await new Promise((next) => setTimeout(next, lookEveryMs));
  if (back !== null) return location.replace(back);
  document.getElementById("going")!.hidden = true;
  document.getElementById("over")!.hidden = false;
  // Browsers close only windows that a page has opened.
  close();
}

async function isOver(): Promise<boolean> {
  try {
    const answer = await fetch(`${location.pathname}/end`, { credentials: "omit", cache: "no-store" });
    return ((await answer.json()) as { isOver: boolean }).isOver;
  } catch {
    return false;
  }
}
