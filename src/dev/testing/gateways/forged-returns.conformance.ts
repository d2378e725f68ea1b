/**
 * The rule that a customer's return decides nothing by itself: anybody who knows the address can open it with any
 * fields. Every connector and every provider keeps it.
 */
import { expect, it } from "vitest";
import type { AuthenticationProvider } from "../../../gateways/authentication-provider.ts";
import type { GatewayCall } from "../../../gateways/connector.ts";
import { Secret } from "../../../platform/secrets.ts";

/** Texts that a customer may write in place of the bank's or the gateway's own. */
export const forgedTexts: Readonly<Record<string, string>> = {
  "a made-up text": "made-up",
  "no text": "",
  "a made-up result": Buffer.from('{"transStatus":"Y"}').toString("base64"),
  "a text of the gateway's shape": `X6XtfGC3!${"Y0FuIHlvdQ".repeat(40)}==`,
  "a text as long as a return may be": "A".repeat(8_192),
  "markup and quotes": `"><script>alert('1' OR 1=1)</script>`,
  "a text with a zero byte": "a\u0000b",
};

const html = { "content-type": "text/html" };
const json = { "content-type": "application/json" };
const error = { errorCode: "00_403", errorType: "security", message: "Forbidden", error: { code: "security" } };

/** The answers with which a gateway, or a firewall before it, may refuse what a customer wrote. */
export const refusedReturns = {
  "an HTML page of a firewall": { status: 403, headers: html, body: "<html><body>Request blocked</body></html>" },
  "an error about the account": { status: 403, headers: json, body: JSON.stringify({ status: 403, ...error }) },
  "an error about the credentials": { status: 401, headers: json, body: JSON.stringify({ status: 401, ...error }) },
} as const;

/** Returns a return that has this text in every field that a gateway or a provider is known to use. */
export function returnWith(text: string): URLSearchParams {
  const names = ["redirectResult", "payload", "PaRes", "MD", "cres", "threeDSMethodData", "payment_intent", "token"];
  return new URLSearchParams(names.map((name) => [name, text]));
}

type ProviderChallenge = {
  readonly provider: AuthenticationProvider;
  readonly call: GatewayCall;
  readonly keep: Secret;
  /** Texts of this installation's that a customer may know, such as another authentication's return. */
  readonly known: readonly string[];
  /** Lets the customer pass. Returns what the return brings. */
  pass(): Promise<URLSearchParams>;
};

export function describeForgedReturns(challenge: () => Promise<ProviderChallenge>): void {
  it("does not end by a return that anybody can make, and takes the customer's own afterwards", async () => {
    const { provider, call, keep, known, pass } = await challenge();
    const resultOf = (fields: URLSearchParams) => {
      const returned = provider.readReturn?.(fields);
      return provider.result(call, keep, returned === undefined ? undefined : new Secret(returned));
    };
    for (const text of [...Object.values(forgedTexts), ...known]) {
      expect(["waiting", "unavailable"], text.slice(0, 40)).toContain((await resultOf(returnWith(text))).type);
    }
    expect(await resultOf(await pass())).toMatchObject({ type: "ended", result: { transStatus: "Y" } });
  });
}
