/** The shop's customers, and which of them is signed in. A real shop requires a password. */
import type { IncomingMessage } from "node:http";

/** A customer with an account. The payment service knows the reference alone, and stores cards under it. */
export type Customer = { readonly customerRef: string; readonly name: string };

const customers: Readonly<Record<string, Customer>> = { ada: { customerRef: "customer-ada", name: "Ada" } };

export function customerOf({ headers }: IncomingMessage): Customer | undefined {
  const [, name = ""] = /(?:^|; )customer=(\w+)/.exec(headers.cookie ?? "") ?? [];
  return Object.hasOwn(customers, name) ? customers[name] : undefined;
}

/**
 * Returns the cookie that signs a customer in, or signs the current one out. Other sites' pages do not send it along
 * with a form.
 */
export function cookieOf(name: string): string {
  const isKnown = Object.hasOwn(customers, name);
  return `customer=${isKnown ? name : ""}; Path=/; HttpOnly; SameSite=Lax${isKnown ? "" : "; Max-Age=0"}`;
}
