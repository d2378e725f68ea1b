/**
 * The service's page in a separate window: shows the action of the ticket in its fragment, and keeps the shop's page
 * for the return.
 */

import { postAction, returnToKey, useTicket } from "./show-action.ts";

void show(location.hash.slice(1));

async function show(ticket: string): Promise<void> {
  // A ticket is used up at once; the address that the browser keeps has none.
  history.replaceState(null, "", location.pathname);
  const action = ticket === "" ? undefined : await useTicket(ticket);
  if (!action) return showEnd();
  if (action.returnTo === undefined) sessionStorage.removeItem(returnToKey);
  else sessionStorage.setItem(returnToKey, action.returnTo);
  if (action.method === "POST") postAction(action, "_self");
  else location.assign(action.url);
}

function showEnd(): void {
  const back = sessionStorage.getItem(returnToKey);
  const link = document.querySelector("a")!;
  document.getElementById("going")!.hidden = true;
  document.getElementById("over")!.hidden = false;
  if (back === null) return;
  link.href = back;
  link.hidden = false;
}
