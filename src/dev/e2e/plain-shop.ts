/** A merchant's page with only the widget, before the real service: its server records the callbacks. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import type { DemoFile } from "../../demo/demo-file.ts";
import { LoopbackServer } from "../testing/loopback-server.ts";
import { ApiCheckout, type OpenedSession } from "./api-checkout.ts";

export type ReceivedCallback = { readonly name: string; readonly result: unknown };

type SentCallback = ReceivedCallback & { readonly load: string; readonly number: number };

// Any browser can send this, and does so until it has arrived; a test's own functions work in only some browsers.
const pageScript = `
  const options = JSON.parse(document.getElementById("options").textContent);
  const post = (body) =>
    fetch("/callbacks/" + options.sessionId, { method: "POST", body, keepalive: true }).catch(() => setTimeout(post, 500, body));
  const load = String(Math.random());
  let number = 0;
  const report = (name) => (result = null) => post(JSON.stringify({ load, number: ++number, name, result }));
  const names = ["onReady", "onError", "onPending", "onSuccess", "onDeclined", "onExpired"];
  const callbacks = Object.fromEntries(names.map((name) => [name, report(name)]));
  const start = () => Switchyard.mount({ container: "#card", ...options, ...callbacks });
  let widget = location.search === "?later" ? undefined : start();
`;

/** Sells the same product at a page for each session. */
export class PlainShop extends LoopbackServer {
  readonly api: ApiCheckout;
  readonly #apiBase: string;
  readonly #sessions = new Map<string, OpenedSession & { readonly walletOrigin: string | undefined }>();
  readonly #callbacks = new Map<string, SentCallback[]>();

  private constructor(file: DemoFile, apiBase: string) {
    super();
    this.#apiBase = apiBase;
    this.api = new ApiCheckout(file);
  }

  /** Starts on a loopback address, which is another site than the service's and the vault's name. */
  static start(file: DemoFile, apiBase = file.connectOrigin): Promise<PlainShop> {
    return new PlainShop(file, apiBase).listen();
  }

  /** With the origin of the wallets' emulators, the page has their buttons, too. */
  async sell(
    fields: object = {},
    walletOrigin?: string,
  ): Promise<{ readonly session: OpenedSession; readonly url: string }> {
    const session = await this.api.open(fields);
    this.#sessions.set(session.sessionId, { ...session, walletOrigin });
    this.#callbacks.set(session.sessionId, []);
    return { session, url: `${this.origin}/${session.sessionId}` };
  }

  resultsOf({ sessionId }: Pick<OpenedSession, "sessionId">): readonly ReceivedCallback[] {
    return (this.#callbacks.get(sessionId) ?? []).map(({ name, result }) => ({ name, result }));
  }

  /** Returns the callbacks by load of the page: a page that is left may receive its outcome as its successor does. */
  callbacksByLoad({ sessionId }: Pick<OpenedSession, "sessionId">): readonly (readonly ReceivedCallback[])[] {
    const byLoad = Map.groupBy(this.#callbacks.get(sessionId) ?? [], ({ load }) => load);
    return [...byLoad.values()].map((sent) => sent.map(({ name, result }) => ({ name, result })));
  }

  protected override async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://shop").pathname;
    const session = this.#sessions.get(path.slice(1));
    if (path.startsWith("/callbacks/")) {
      const sent = (await json(request)) as SentCallback;
      const received = this.#callbacks.get(path.slice("/callbacks/".length));
      // A page repeats a message whose answer was lost.
      const isKnown = received?.some(({ load, number }) => load === sent.load && number === sent.number);
      if (!isKnown) received?.push(sent);
      response.writeHead(204).end();
    } else if (path === "/page.js") {
      response.writeHead(200, { "Content-Type": "text/javascript" }).end(pageScript);
    } else if (session !== undefined) {
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store" });
      response.end(this.#page(session));
    } else {
      response.writeHead(404).end();
    }
  }

  #page({
    sessionId,
    clientSecret,
    vault,
    walletOrigin,
  }: OpenedSession & { readonly walletOrigin: string | undefined }): string {
    const apiBase = this.#apiBase;
    const wallets = walletOrigin === undefined ? [] : ["apple_pay", "google_pay"];
    const emulators = walletOrigin === undefined ? [] : ["apple-pay", "google-pay"];
    const scripts = emulators.map((name) => `<script src="${walletOrigin}/wallets/${name}.js"></script>`).join("");
    const options = JSON.stringify({ apiBase, sessionId, clientSecret, vault, wallets }).replaceAll("<", "\\u003c");
    return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
      <title>Shop</title><div id="card"></div><script type="application/json" id="options">${options}</script>
      ${scripts}<script src="${apiBase}/widget/v1/widget.js"></script><script src="/page.js"></script></html>`;
  }
}
