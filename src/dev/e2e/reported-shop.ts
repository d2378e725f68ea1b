/** The demo's shop behind a server that has browsers report each violation of the shop's own policy. */
import { once } from "node:events";
import { createServer, request as forward, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export class ReportedShop {
  readonly reports: string[] = [];
  /** The paths of the requests that change something. */
  readonly posts: string[] = [];
  readonly #server: Server;

  private constructor(shopUrl: string) {
    this.#server = createServer(async (request, response) => {
      const { method, url = "/", headers } = request;
      if (url === "/reports") {
        this.reports.push(await text(request));
        return void response.writeHead(204).end();
      }
      if (method === "POST") this.posts.push(url);
      const forwarded = forward(shopUrl + url, { method, headers }, (answer) => {
        const policy = answer.headers["content-security-policy"];
        const reporting = policy && { "content-security-policy": `${policy}; report-uri /reports` };
        response.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...reporting });
        answer.pipe(response);
      });
      forwarded.on("error", () => response.destroy());
      response.on("close", () => forwarded.destroy());
      request.pipe(forwarded);
    });
  }

  static async start(shopUrl: string): Promise<ReportedShop> {
    const shop = new ReportedShop(shopUrl);
    shop.#server.listen(0, "127.0.0.1");
    await once(shop.#server, "listening");
    return shop;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
