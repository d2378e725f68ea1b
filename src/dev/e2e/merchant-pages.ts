/** A merchant's web server for tests: pages of any content and policy, and the reports that browsers send of them. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export type ServedPage = { readonly body: string; readonly headers?: Readonly<Record<string, string>> };

/** A merchant's origin. Pages are set by their path, and served with their content at the time of the request. */
export class MerchantPages {
  readonly pages = new Map<string, ServedPage>();
  readonly reports: string[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      if (request.method === "POST") {
        this.reports.push(await text(request));
        return void response.writeHead(204).end();
      }
      const path = (request.url ?? "").split("?")[0] ?? "";
      const page = this.pages.get(path);
      const type = path.endsWith(".js") ? "text/javascript" : "text/html";
      response.writeHead(page ? 200 : 404, { "content-type": `${type}; charset=utf-8`, ...page?.headers });
      response.end(page?.body);
    });
  }

  static async start(): Promise<MerchantPages> {
    const pages = new MerchantPages();
    await new Promise<void>((resolve) => pages.#server.listen(0, "127.0.0.1", resolve));
    return pages;
  }

  /** An origin on 127.0.0.1, which is another site than localhost. */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
