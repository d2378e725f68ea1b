/** Accounts at the sandbox gateways: their credentials, and the address of SANDBOX_B's notifications. */
import { createHmac } from "node:crypto";
import { Agent, request } from "undici";
import { type ConnectionId, encodeId } from "../platform/ids.ts";

export type ClearCredentials = Readonly<Record<string, string>>;

/** Opens accounts at the sandbox gateways for the demo's merchants. */
export class SandboxAccounts {
  readonly #origin: string;
  readonly #apiOrigin: string;
  readonly #seed: string;

  /** `seed` derives the accounts' notification keys, so that they are the same on every start. */
  constructor(options: { sandboxOrigin: string; apiOrigin: string; seed: string }) {
    this.#origin = options.sandboxOrigin;
    this.#apiOrigin = options.apiOrigin;
    this.#seed = options.seed;
  }

  credentialsFor(gateway: "SANDBOX_A" | "SANDBOX_B" | "SANDBOX_3DS", account: string): ClearCredentials {
    const apiKey = `sandbox_${account}`;
    if (gateway !== "SANDBOX_B") return { apiKey };
    const notificationHmacKey = createHmac("sha256", this.#seed).update(account).digest("hex").toUpperCase();
    return { apiKey, merchantAccount: account, notificationHmacKey };
  }

  /** Has the sandbox issue, in Apple's place, the certificate for a key's signing request. */
  async issueCertificate(merchantIdentifier: string, signingRequest: string): Promise<Uint8Array> {
    const { certificate } = await this.#call("POST", "/wallets/apple/certificates", {
      merchantIdentifier,
      signingRequest,
    });
    return Buffer.from(String(certificate));
  }

  /** Returns the roots of the sandbox's wallets, which the vault of test counts as its own. */
  async walletRoots(): Promise<object> {
    return this.#call("GET", "/wallets/roots.json");
  }

  async #call(method: "GET" | "POST" | "PUT", path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
    // A separate agent follows no proxy, whatever the environment names.
    const dispatcher = new Agent();
    const headers = { "content-type": "application/json" };
    const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) };
    const answer = await request(`${this.#origin}${path}`, { dispatcher, method, ...sent });
    const json = await answer.body.json();
    await dispatcher.close();
    if (answer.statusCode !== 200) throw new Error(`the sandbox did not accept ${path} (${answer.statusCode})`);
    return json as Readonly<Record<string, unknown>>;
  }

  /** Sets the address of notifications on every start, because the ports may be others. */
  async sendNotificationsTo(
    account: string,
    to: { environment: string; connectionId: ConnectionId; credentials: ClearCredentials },
  ): Promise<void> {
    const connectionId = encodeId("gc", to.connectionId);
    await this.#call("PUT", "/admin/accounts", {
      account,
      notificationUrl: `${this.#apiOrigin}/gateway-notifications/${to.environment}/${connectionId}`,
      hmacKey: to.credentials.notificationHmacKey,
    });
  }
}
