/** The parts that all pages of the shop share. */
import { type Html, html } from "./html.ts";

/** The hosts that a checkout page connects to, besides the shop's own. */
export type PaymentHosts = {
  readonly apiOrigin: string;
  readonly vaultOrigin: string;
  readonly walletOrigin?: string | undefined;
};

/**
 * Returns a page's policy: the shop itself, and for a checkout the three named hosts that docs/widget.md lists.
 */
export function contentSecurityPolicy(hosts?: PaymentHosts): string {
  const { apiOrigin = "", vaultOrigin = "", walletOrigin = "" } = hosts ?? {};
  return [
    "default-src 'none'",
    `script-src 'self' ${apiOrigin} ${vaultOrigin} ${walletOrigin}`.trim(),
    `connect-src 'self' ${apiOrigin} ${walletOrigin}`.trim(),
    `frame-src ${vaultOrigin || "'none'"}`,
    "style-src 'self'",
    "img-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    // On the page with the card form no script writes HTML; the widget loads the vault's script by a policy of its
    // name.
    ...(hosts ? ["require-trusted-types-for 'script'", "trusted-types switchyard"] : []),
  ].join("; ");
}

export function page(title: string, content: Html, scripts: readonly string[] = []): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Roundhouse</title>
<link rel="icon" href="/favicon.svg">
<link rel="stylesheet" href="/shop.css">
${scripts.map((script) => html`<script src="${script}" defer></script>\n`)}</head>
<body>
<header><a href="/">Roundhouse</a><span>demo shop</span></header>
<main>
${content}
</main>
</body>
</html>
`.text;
}

/** Formats a price: 4900 EUR is €49.00. The shop sells only in currencies with two decimals. */
export function priceText({ amountMinor, currency }: { amountMinor: number; currency: string }): string {
  return new Intl.NumberFormat("en", { style: "currency", currency }).format(amountMinor / 100);
}
