/** The page of a recovery link: opens the link at the service, and mounts the widget to pay it. */

import { amountText } from "../amount-text.ts";
import type { MountedWidget } from "../mount.ts";
import type { MountOptions, SessionOptions } from "../options.ts";

declare const Switchyard: { mount(options: MountOptions): MountedWidget };

/** The service's answer about a link. `over`: it was cancelled, has expired, or does not exist. */
type Opened = {
  readonly state: "open" | "paid" | "beingPaid" | "over" | "later" | "unreachable";
  readonly merchantName?: string;
  readonly amountMinor?: number;
  readonly currency?: string;
  readonly orderRef?: string;
  readonly card?: { readonly brand: string; readonly last4: string };
  readonly returnTo?: string;
  readonly session?: SessionOptions;
};

// The fragment goes to no server. A browser that comes back from the bank comes to this page without it.
const kept = "switchyard-recovery-link";
const link = location.hash.slice(1) || sessionStorage.getItem(kept) || "";
sessionStorage.setItem(kept, link);
addEventListener("hashchange", () => location.reload());

const timeoutMs = 15_000;
// A payment takes seconds, rarely hours.
const lookFirstMs = 2_000;
const lookLaterMs = 60_000;
const language = document.documentElement.lang;

const byId = (id: string) => document.getElementById(id)!;
let widget: MountedWidget | undefined;
let looks = 0;

byId("again").addEventListener("click", () => void start());
void start();

async function start(): Promise<void> {
  show(await open());
}

async function open(): Promise<Opened> {
  try {
    const answer = await fetch("/recover/open", {
      method: "POST",
      body: JSON.stringify({ link }),
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (answer.status === 404) return { state: "over" };
    return answer.ok ? ((await answer.json()) as Opened) : { state: "unreachable" };
  } catch {
    return { state: "unreachable" };
  }
}

function show(opened: Opened): void {
  const { state, merchantName, amountMinor, currency, orderRef = "", card, returnTo, session } = opened;
  for (const message of byId("states").children) (message as HTMLElement).hidden = message.id !== state;
  byId("again").hidden = state !== "unreachable";
  if (merchantName !== undefined) {
    document.title = merchantName;
    byId("merchant").textContent = merchantName;
  }
  if (amountMinor !== undefined && currency !== undefined)
    byId("amount").textContent = amountText({ amountMinor, currency }, language);
  byId("order").textContent = orderRef;
  byId("card").textContent = card && state === "open" ? `${nameOf(card.brand)} •••• ${card.last4}` : "";
  if (state === "paid") offerBack(returnTo);
  if (state === "open" && session) mount(session, returnTo);
  else {
    widget?.unmount();
    widget = undefined;
  }
  if (state === "beingPaid") setTimeout(() => void start(), Math.min(lookFirstMs * 1.5 ** looks++, lookLaterMs));
}

function mount(session: SessionOptions, returnTo: string | undefined): void {
  widget ??= Switchyard.mount({
    container: "#pay",
    apiBase: location.origin,
    ...session,
    appearance: { summary: "hidden" },
    returnTo: `${location.origin}${location.pathname}`,
    getSession: fresh,
    onSuccess: () => offerBack(returnTo),
    onDeclined: () => undefined,
    // The merchant may have begun a try itself.
    onError: () => void lookAgain(),
  });
}

/** Returns the session of the next try. */
async function fresh(): Promise<SessionOptions> {
  const opened = await open();
  if (opened.session) return opened.session;
  if (opened.state !== "unreachable") show(opened);
  throw new Error("The link has no session.");
}

/** Removes the form if the link is no longer open. */
async function lookAgain(): Promise<void> {
  const opened = await open();
  if (opened.state !== "open" && opened.state !== "unreachable") show(opened);
}

function offerBack(returnTo: string | undefined): void {
  if (returnTo === undefined) return;
  const back = byId("back") as HTMLAnchorElement;
  back.href = returnTo;
  back.hidden = false;
}

/** Returns `Visa` for `visa`. */
function nameOf(brand: string): string {
  return brand.charAt(0).toUpperCase() + brand.slice(1);
}
