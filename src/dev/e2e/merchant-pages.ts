/** A merchant's web server for tests: pages of any content and policy, and the reports that browsers send of them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { LoopbackServer } from "../testing/loopback-server.ts";

export type ServedPage = { readonly body: string; readonly headers?: Readonly<Record<string, string>> };

/** A merchant's origin. Pages are set by their path, and served with their content at the time of the request. */
export class MerchantPages extends LoopbackServer {
  readonly pages = new Map<string, ServedPage>();
  readonly reports: string[] = [];

  static start(): Promise<MerchantPages> {
    return new MerchantPages().listen();
  }

  protected override async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "POST") {
      this.reports.push(await text(request));
      return void response.writeHead(204).end();
    }
    const path = (request.url ?? "").split("?")[0] ?? "";
    const page = this.pages.get(path);
    const type = path.endsWith(".js") ? "text/javascript" : "text/html";
    response.writeHead(page ? 200 : 404, { "content-type": `${type}; charset=utf-8`, ...page?.headers });
    response.end(page?.body);
  }
}
