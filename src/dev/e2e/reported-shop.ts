/** The demo's shop behind a server that has browsers report each violation of the shop's own policy. */
import { request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { LoopbackServer } from "../testing/loopback-server.ts";

export class ReportedShop extends LoopbackServer {
  readonly reports: string[] = [];
  /** The paths of the requests that change something. */
  readonly posts: string[] = [];
  readonly #shopUrl: string;

  private constructor(shopUrl: string) {
    super();
    this.#shopUrl = shopUrl;
  }

  static start(shopUrl: string): Promise<ReportedShop> {
    return new ReportedShop(shopUrl).listen();
  }

  protected override async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "/", headers } = request;
    if (url === "/reports") {
      this.reports.push(await text(request));
      return void response.writeHead(204).end();
    }
    if (method === "POST") this.posts.push(url);
    const forwarded = forward(this.#shopUrl + url, { method, headers }, (answer) => {
      const policy = answer.headers["content-security-policy"];
      const reporting = policy && { "content-security-policy": `${policy}; report-uri /reports` };
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...reporting });
      answer.pipe(response);
    });
    forwarded.on("error", () => response.destroy());
    response.on("close", () => forwarded.destroy());
    request.pipe(forwarded);
  }
}
