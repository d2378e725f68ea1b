/** A company's identity provider in this process: `oidc-provider`, whose login page signs in the account that a test names. */
import type { KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

export type CompanyAccount = Readonly<Record<string, unknown>>;

const clientId = "switchyard";
const clientSecret = "a-secret-of-at-least-32-characters";

export class CompanyProvider {
  readonly clientId = clientId;
  readonly clientSecret = clientSecret;
  readonly issuer: string;
  /** Claims by subject. */
  readonly accounts = new Map<string, CompanyAccount>();
  /** Sends a logout token to the dashboard. */
  deliver: (url: string, body: string) => Promise<number> = async () => 200;
  /** Logout tokens in the order in which they were sent. */
  readonly sent: { url: string; body: string; status: number }[] = [];
  /** The account that the login page signs in. */
  account = "";
  readonly #server: Server;
  readonly #provider: Provider;

  /**
   * `publicKey`: of the client, which then has no secret. `isSparse`: ID tokens have the subject alone, and userinfo has the
   * other claims.
   */
  static async start(
    dashboardOrigin: string,
    id: string,
    options: { readonly publicKey?: KeyObject; readonly isSparse?: boolean } = {},
  ): Promise<CompanyProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new CompanyProvider(server, `${dashboardOrigin}/company-sign-in/${id}`, {
      returnTo: `${dashboardOrigin}/sign-in`,
      ...options,
    });
  }

  private constructor(
    server: Server,
    door: string,
    options: { readonly returnTo: string; readonly publicKey?: KeyObject; readonly isSparse?: boolean },
  ) {
    const { returnTo, publicKey, isSparse = false } = options;
    this.#server = server;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: clientId,
          ...(publicKey === undefined
            ? { client_secret: clientSecret }
            : { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [publicKey.export({ format: "jwk" })] } }),
          redirect_uris: [`${door}/callback`],
          backchannel_logout_uri: `${door}/logout`,
          backchannel_logout_session_required: true,
          post_logout_redirect_uris: [returnTo],
        },
      ],
      cookies: { keys: ["a key of the tests"] },
      claims: { openid: ["sub", "sid"], email: ["email", "email_verified"], profile: ["name", "groups", "amr"] },
      conformIdTokenClaims: isSparse,
      features: {
        devInteractions: { enabled: false },
        backchannelLogout: { enabled: true },
        rpInitiatedLogout: { logoutSource },
      },
      ttl: { Interaction: 3_600, Grant: 3_600, Session: 3_600, AccessToken: 3_600, IdToken: 3_600 },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      findAccount: (_, accountId) => ({
        accountId,
        claims: () => ({ sub: accountId, ...this.accounts.get(accountId) }),
      }),
      async loadExistingGrant(context) {
        const { provider, session } = context.oidc;
        const grant = new provider.Grant({ clientId, accountId: session?.accountId ?? "" });
        grant.addOIDCScope("openid email profile");
        await grant.save();
        return grant;
      },
      fetch: async (url, options) => {
        const body = String(options?.body);
        const status = await this.deliver(String(url), body);
        this.sent.push({ url: String(url), body, status });
        return new Response(null, { status });
      },
    });
    const callback = this.#provider.callback();
    server.on("request", (incoming: IncomingMessage, response: ServerResponse) => {
      if (!incoming.url?.startsWith("/interaction/")) return void callback(incoming, response);
      const login = { accountId: this.account };
      void this.#provider.interactionFinished(incoming, response, { login });
    });
  }

  /** Follows the provider's page as a browser with these cookies does. Returns the address it leads back to. */
  async signIn(authorizationUrl: string, account: string, cookies = new Map<string, string>()): Promise<URL> {
    this.account = account;
    let url = new URL(authorizationUrl);
    while (url.origin === this.issuer) {
      const answer = await get(url, cookies);
      if (answer.location === undefined) throw new Error(`the provider answers ${answer.status} at ${url.pathname}`);
      url = new URL(answer.location, url);
    }
    return url;
  }

  /** Signs out at the provider, as its own page does: confirms by the form that it shows. */
  async signOut(endSessionUrl: string, cookies: Map<string, string>): Promise<string | undefined> {
    const { body } = await get(new URL(endSessionUrl), cookies);
    const xsrf = /name="xsrf" value="(\w+)"/.exec(body)?.[1] ?? "";
    const form = new URLSearchParams({ xsrf, logout: "yes" }).toString();
    return (await get(new URL("/session/end/confirm", this.issuer), cookies, form)).location;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

/** The page that asks whether to sign out; the library's own loads a font from elsewhere. */
function logoutSource(context: { body: unknown }, form: string): void {
  const button = `<button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>`;
  context.body = `<!doctype html><title>Sign out</title>${form}${button}`;
}

function get(url: URL, cookies: Map<string, string>, form?: string) {
  return new Promise<{ status: number; location: string | undefined; body: string }>((resolve, reject) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { cookie, ...(form && { "content-type": "application/x-www-form-urlencoded" }) };
    const outgoing = request(url, { method: form ? "POST" : "GET", headers }, (answer) => {
      for (const line of answer.headers["set-cookie"] ?? []) {
        const [pair = ""] = line.split(";");
        const [name = "", value = ""] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
        if (value === "") cookies.delete(name);
        else cookies.set(name, value);
      }
      let body = "";
      answer.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, location: answer.headers.location, body }));
    });
    outgoing.on("error", reject);
    outgoing.end(form);
  });
}
