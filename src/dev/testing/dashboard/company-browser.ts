/** A browser on its way to a company's identity provider and back, with its cookie. */
import { request } from "node:http";
import type { Pages } from "./pages.ts";

type Answer = { status: number; cookies: string[]; body: string };

/** The provider's page, and the cookie of the flow. */
export type Begun = { readonly authorizationUrl: string; readonly flow: string };

export const flowName = "__Host-switchyard_company";
const signInName = "__Host-switchyard_sign_in";

export const pairOf = (line: string | undefined) => line?.split(";")[0] ?? "";

/** Returns where a page navigates on. */
export const targetOf = ({ body }: Answer) => /url=([^"]*)"/.exec(body)?.[1]?.replaceAll("&#38;", "&");

export class CompanyBrowser {
  readonly #pages: Pages;
  readonly #port: number;

  constructor(pages: Pages, port: number) {
    this.#pages = pages;
    this.#port = port;
  }

  /** Begins at the dashboard. */
  readonly begin = async (
    call: (onHeader: (headers: Headers) => void) => Promise<{ authorizationUrl: string }>,
  ): Promise<Begun> => {
    let flow = "";
    const { authorizationUrl } = await call((headers) => {
      flow = pairOf(headers.get("set-cookie") ?? "");
    });
    return { authorizationUrl, flow };
  };

  readonly beginSignIn = (more: object = {}, cookie?: string): Promise<Begun> =>
    this.begin((onHeader) =>
      this.#pages.signIns(cookie).beginCompanySignIn({ providerId: "corp", ...more }, { onHeader }),
    );

  /** Returns from the provider to an address. */
  readonly arriveAt = async (back: URL, { flow }: Begun) => {
    const answer = await this.send(back.pathname + back.search, { cookie: flow });
    const signIn = answer.cookies.find((line) => line.startsWith(signInName));
    return { ...answer, target: targetOf(answer), cookie: signIn && pairOf(signIn) };
  };

  readonly send = (path: string, { cookie = "", form }: { cookie?: string; form?: string } = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = {
        host: "dashboard.example.com",
        cookie,
        ...(form !== undefined && { "content-type": "application/x-www-form-urlencoded" }),
      };
      const method = form === undefined ? "GET" : "POST";
      const outgoing = request({ host: "127.0.0.1", port: this.#port, path, method, headers }, (answer) => {
        let body = "";
        answer.on("data", (chunk: Buffer) => {
          body += chunk.toString();
        });
        answer.on("end", () =>
          resolve({ status: answer.statusCode ?? 0, cookies: answer.headers["set-cookie"] ?? [], body }),
        );
      });
      outgoing.on("error", reject);
      outgoing.end(form);
    });
}
