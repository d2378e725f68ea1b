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

  /** Sets the address of notifications on every start, because the ports may be others. */
  async sendNotificationsTo(
    account: string,
    to: { environment: string; connectionId: ConnectionId; credentials: ClearCredentials },
  ): Promise<void> {
    const connectionId = encodeId("gc", to.connectionId);
    // An agent of its own follows no proxy, whatever the environment names.
    const dispatcher = new Agent();
    const { statusCode, body } = await request(`${this.#origin}/admin/accounts`, {
      dispatcher,
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        account,
        notificationUrl: `${this.#apiOrigin}/gateway-notifications/${to.environment}/${connectionId}`,
        hmacKey: to.credentials.notificationHmacKey,
      }),
    });
    await body.dump();
    await dispatcher.close();
    if (statusCode !== 200) throw new Error(`the sandbox did not accept its notification address (${statusCode})`);
  }
}
