/** Speaks OpenID Connect to the companies' identity providers: discovery, sign-in page, ID token, logout. */
import type { KeyObject } from "node:crypto";
import type { JWTVerifyGetKey } from "jose";
import type { Configuration } from "openid-client";
import type { IdentityProvider } from "../../accounts/identity-providers-file.ts";
import type { GatewayHttp } from "../../platform/outbound-http.ts";
import type { Flow } from "./flow-cookie.ts";

// Time for which a provider's metadata is used; its keys are fetched again when one is unknown.
const metadataLifetimeMs = 60 * 60_000;
const timeoutMs = 10_000;
// Oldest logout token: its provider retries for minutes, not for hours.
const logoutTokenAge = "5 minutes";

export type Claims = Readonly<Record<string, unknown>> & { readonly sub: string };

export type Logout = {
  readonly jti: string;
  readonly subject: string | undefined;
  readonly session: string | undefined;
};

type Client = {
  readonly configuration: Configuration;
  /** The provider's keys for logout tokens; fetched again when one is unknown, but not for each token. */
  readonly keys: JWTVerifyGetKey | undefined;
  readonly madeAt: number;
};

export class IdentityProviders {
  readonly #providers: () => readonly IdentityProvider[];
  readonly #http: Pick<GatewayHttp, "send">;
  readonly #clients = new WeakMap<IdentityProvider, Promise<Client>>();

  constructor(providers: () => readonly IdentityProvider[], http: Pick<GatewayHttp, "send">) {
    this.#providers = providers;
    this.#http = http;
  }

  get all(): readonly IdentityProvider[] {
    return this.#providers();
  }

  find(id: string): IdentityProvider | undefined {
    return this.all.find((provider) => provider.id === id);
  }

  /** Returns the provider's page on which a member signs in. */
  async authorizationUrl(provider: IdentityProvider, flow: Flow, redirectUri: string): Promise<string> {
    const oidc = await import("openid-client");
    const { configuration } = await this.#clientOf(provider);
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: "openid email profile",
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: "S256",
      ...(flow.purpose === "PROVE" && { prompt: "login", max_age: "0" }),
    });
    return url.href;
  }

  /** Exchanges the code of a callback and returns what the provider says about the member. Throws for any invalid part. */
  async exchange(provider: IdentityProvider, flow: Flow, callback: URL): Promise<Claims> {
    const oidc = await import("openid-client");
    const { configuration } = await this.#clientOf(provider);
    const tokens = await oidc.authorizationCodeGrant(configuration, callback, {
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      pkceCodeVerifier: flow.verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error("the provider's answer has no ID token");
    // The library checks it only beside several audiences.
    if (claims.azp !== undefined && claims.azp !== provider.clientId)
      throw new Error("the ID token was issued to another client");
    const isWhole = claimsRead(provider).every((name) => claims[name] !== undefined);
    if (isWhole || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    const more = await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
    return { ...more, ...claims };
  }

  /** Returns the page that ends the member's session at the provider; undefined if it has none or does not answer. */
  async endSessionUrl(provider: IdentityProvider, returnTo: string): Promise<string | undefined> {
    const oidc = await import("openid-client");
    const client = await this.#clientOf(provider).catch(() => undefined);
    if (client?.configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    return oidc.buildEndSessionUrl(client.configuration, { post_logout_redirect_uri: returnTo }).href;
  }

  /** Verifies a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6). Throws for an invalid one. */
  async readLogoutToken(provider: IdentityProvider, token: string): Promise<Logout> {
    const { jwtVerify } = await import("jose");
    const { keys } = await this.#clientOf(provider);
    if (keys === undefined) throw new Error("the provider has no keys");
    // Its keys are public ones: the library takes neither `none` nor a shared secret.
    const { payload } = await jwtVerify(token, keys, {
      issuer: provider.issuer,
      audience: provider.clientId,
      maxTokenAge: logoutTokenAge,
      clockTolerance: 30,
      requiredClaims: ["iat", "jti", "events"],
    });
    const { jti, sub: subject, sid, events, nonce } = payload;
    const event = (events as Record<string, unknown> | undefined)?.[
      "http://schemas.openid.net/event/backchannel-logout"
    ];
    const session = typeof sid === "string" ? sid : undefined;
    if (typeof event !== "object" || event === null || nonce !== undefined) throw new Error("it is no logout token");
    if (jti === undefined || (subject === undefined && session === undefined))
      throw new Error("it names neither a member nor a session");
    return { jti, subject, session };
  }

  readonly #fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { method, headers, body, signal } = init;
    const reply = await this.#http.send({
      method: method === "POST" ? "POST" : "GET",
      url,
      headers: Object.fromEntries(new Headers(headers)),
      body: body === undefined || body === null ? undefined : String(body),
      timeoutMs,
      signal: signal ?? undefined,
    });
    if (reply.type !== "answer") throw new TypeError(reply.reason);
    const isEmpty = [204, 205, 304].includes(reply.status);
    return new Response(isEmpty ? null : new Uint8Array(reply.body), { status: reply.status, headers: reply.headers });
  };

  #clientOf(provider: IdentityProvider): Promise<Client> {
    const known = this.#clients.get(provider) ?? this.#discover(provider);
    this.#clients.set(provider, known);
    return known.then(
      (client) => {
        if (Date.now() - client.madeAt > metadataLifetimeMs) this.#clients.delete(provider);
        return client;
      },
      (error: unknown) => {
        this.#clients.delete(provider);
        throw error;
      },
    );
  }

  async #discover(provider: IdentityProvider): Promise<Client> {
    const oidc = await import("openid-client");
    const { issuer, clientId, clientSecret, privateKey } = provider;
    const secret = clientSecret?.expose();
    const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
    const bySecret: typeof basic = (server, ...rest) => {
      const { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] } = server;
      return (methods.includes("client_secret_basic") ? basic : post)(server, ...rest);
    };
    const authentication = privateKey === undefined ? bySecret : oidc.PrivateKeyJwt(await importKey(privateKey));
    const url = new URL(issuer);
    const configuration = await oidc.discovery(url, clientId, {}, authentication, {
      // Its type is that of a fetch; only these parts are used.
      [oidc.customFetch]: this.#fetch as never,
      timeout: timeoutMs / 1_000,
      // Signatures are checked although the token arrives by TLS.
      execute: [oidc.enableNonRepudiationChecks, ...(url.protocol === "http:" ? [oidc.allowInsecureRequests] : [])],
    });
    const { createRemoteJWKSet, customFetch } = await import("jose");
    const { issuer: written, jwks_uri: keysUrl } = configuration.serverMetadata();
    if (written !== issuer) throw new Error(`the provider writes its issuer as ${written}`);
    const keys =
      keysUrl === undefined ? undefined : createRemoteJWKSet(new URL(keysUrl), { [customFetch]: this.#fetch });
    return { configuration, keys, madeAt: Date.now() };
  }
}

/** Returns the claims that decide about a member. */
function claimsRead({ secondFactor, roles }: IdentityProvider): string[] {
  const byFactor = typeof secondFactor === "object" ? [secondFactor.claim] : [];
  return ["email", "email_verified", ...byFactor, ...(roles ?? []).map(({ claim }) => claim)];
}

async function importKey(key: KeyObject) {
  const { importPKCS8 } = await import("jose");
  const { asymmetricKeyType: type = "", asymmetricKeyDetails: details } = key;
  const algorithms: Readonly<Record<string, string>> = {
    ...{ rsa: "RS256", ed25519: "Ed25519", prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" },
  };
  const algorithm = algorithms[type === "ec" ? (details?.namedCurve ?? "") : type];
  if (algorithm === undefined) throw new Error("the private key is neither RSA, nor of a NIST curve, nor Ed25519");
  return importPKCS8(key.export({ type: "pkcs8", format: "pem" }).toString(), algorithm);
}
