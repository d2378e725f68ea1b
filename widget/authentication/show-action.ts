/** Exchanges a ticket for the action that it shows, and shows it. Shared by the frame and the window. */

/** An action as the service returns it for a ticket. */
export type ShownAction = {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly fields: Readonly<Record<string, string>>;
  /** The shop's page to which a window goes back. */
  readonly returnTo?: string;
};

/** The name under which a window keeps the shop's page while it is at the bank. */
export const returnToKey = "switchyard-return-to";

/** The bank's return page says this to the frame around it, of the same origin. */
export const returnedMessage = "switchyard-returned";

/** Uses a ticket up. Returns undefined for a ticket that no longer shows anything. Never rejects. */
export async function useTicket(ticket: string): Promise<ShownAction | undefined> {
  try {
    const answer = await fetch("open", {
      method: "POST",
      body: JSON.stringify({ ticket }),
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
    });
    const action = (await answer.json()) as ShownAction;
    return answer.ok && isPage(action.url) ? action : undefined;
  } catch {
    return undefined;
  }
}

/** Reports whether an address is a page; http only of this machine, where the sandbox's bank is. */
function isPage(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === "https:" || (protocol === "http:" && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname));
}

/** Posts the action's fields in the window of this name. */
export function postAction({ url, fields }: ShownAction, target: string): void {
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action: url, target, hidden: true });
  for (const [name, value] of Object.entries(fields)) {
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name, value });
    form.append(field);
  }
  document.body.append(form);
  // A field of this name would hide the form's own method.
  HTMLFormElement.prototype.submit.call(form);
}
