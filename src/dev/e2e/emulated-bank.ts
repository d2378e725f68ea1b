/**
 * The service's frame around a bank's page, and a bank that shows one page: what the widget frames when a
 * CheckoutEmulator asks for its customer.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { bundleAuthenticationPages } from "../../../widget/authentication/bundle-pages.ts";

const bankPage = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Bank</title>
  <main><h1>Bank</h1><p><label>Code <input></label> <button>Confirm</button></p></main></html>`;

export type EmulatedBank = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Builds the pages. A ticket may be used as often as a test likes. */
export async function buildEmulatedBank(): Promise<EmulatedBank> {
  const { files, render } = await bundleAuthenticationPages();
  const html = "text/html; charset=utf-8";
  const pages = new Map<string, readonly [contentType: string, body: string | Uint8Array]>([
    ["/authentication/test/frame", [html, render("frame", { acceptLanguage: "en", embedders: ["*"] })]],
    ["/bank", [html, bankPage]],
    ...[...files].map(([path, { contentType, bytes }]) => [path, [contentType, bytes]] as const),
  ]);
  return (request, response) => {
    const { origin, pathname } = new URL(request.url ?? "", `http://${request.headers.host}`);
    const action = { url: `${origin}/bank`, method: "GET", fields: {} };
    const page =
      pathname === "/authentication/test/open"
        ? (["application/json", JSON.stringify(action)] as const)
        : pages.get(pathname);
    if (page) response.writeHead(200, { "content-type": page[0] }).end(page[1]);
    return page !== undefined;
  };
}
