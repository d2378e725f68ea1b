/** An identity provider that signs whatever a test wants, or does not sign it. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { unreachable } from "../../../platform/errors.ts";

export type Token = {
  readonly header?: object;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The signature; by the provider's own key if absent. */
  readonly signed?: "not" | "byTheSecret" | "byAnotherKey" | "byThePublicKey";
};

const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
const another = generateKeyPairSync("rsa", { modulusLength: 2048 });

export class HostileProvider {
  readonly clientId = "switchyard";
  readonly clientSecret = "a-secret-of-at-least-32-characters";
  /** The answer of the token endpoint, instead of `token`. */
  tokenAnswer: { status: number; headers?: Record<string, string>; body: string } | undefined;
  metadata: Readonly<Record<string, unknown>> = {};
  token: Token = { claims: {} };
  readonly requested: string[] = [];
  readonly #server: Server;

  static async start(): Promise<HostileProvider> {
    const provider = new HostileProvider();
    await new Promise<void>((resolve) => provider.#server.listen(0, "127.0.0.1", resolve));
    return provider;
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      const path = request.url ?? "";
      this.requested.push(path);
      const { status, headers, body } = this.#answer(path);
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
    });
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #answer(path: string): { status: number; headers?: Record<string, string>; body: string } {
    if (path === "/.well-known/openid-configuration") return { status: 200, body: JSON.stringify(this.#metadata()) };
    if (path === "/keys") {
      const key = { ...own.publicKey.export({ format: "jwk" }), kid: "one", use: "sig", alg: "RS256" };
      return { status: 200, body: JSON.stringify({ keys: [key] }) };
    }
    if (path !== "/token") return { status: 404, body: "{}" };
    const body = { access_token: "access", token_type: "Bearer", id_token: this.write(this.token) };
    return this.tokenAnswer ?? { status: 200, body: JSON.stringify(body) };
  }

  #metadata() {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/keys`,
      response_types_supported: ["code"],
      // It offers what must never be taken.
      id_token_signing_alg_values_supported: ["RS256", "HS256", "none"],
      ...this.metadata,
    };
  }

  /** Returns a token in compact form. */
  write({ header, claims, signed }: Token): string {
    const algorithm = { not: "none", byTheSecret: "HS256", byThePublicKey: "HS256", byAnotherKey: "RS256" };
    const parts = [{ alg: signed ? algorithm[signed] : "RS256", kid: "one", ...header }, claims];
    const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    return `${text}.${this.#sign(text, signed).toString("base64url")}`;
  }

  #sign(text: string, signed: Token["signed"]): Buffer {
    const byKey = (key: KeyObject) => sign("sha256", Buffer.from(text), key);
    switch (signed) {
      case "not":
        return Buffer.alloc(0);
      case "byTheSecret":
        return createHmac("sha256", this.clientSecret).update(text).digest();
      case "byThePublicKey":
        return createHmac("sha256", own.publicKey.export({ type: "spki", format: "pem" }))
          .update(text)
          .digest();
      case "byAnotherKey":
        return byKey(another.privateKey);
      case undefined:
        return byKey(own.privateKey);
      default:
        return unreachable(signed);
    }
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}
