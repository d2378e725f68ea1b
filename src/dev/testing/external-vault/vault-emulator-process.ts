/** Controls the emulator of an external vault: a separate process, its settings, its faults and its record. */
import { join } from "node:path";
import type { SaasVaultSettings } from "../../../card-vault/vault-settings.ts";
import { Secret } from "../../../platform/secrets.ts";
import { Child } from "../child-process.ts";
import type { VaultFault, VaultRecord } from "./orders.ts";

const account = {
  apiKey: "snd_0123456789abcdefemulator",
  publishableKey: "pk_snd_0123456789abcdefemulator",
  profileId: "pro_emulator0123456789",
};

/** Restarted as often as a test wants, on the same port; its stored data is lost then. */
export class VaultEmulatorProcess {
  #child: Child;
  readonly #port: number;

  private constructor(child: Child, port: number) {
    this.#child = child;
    this.#port = port;
  }

  static async start(port = 0): Promise<VaultEmulatorProcess> {
    const child = Child.start(join(import.meta.dirname, "main.ts"));
    return new VaultEmulatorProcess(child, await child.ask<number>("start", { ...account, port }));
  }

  /** The settings as an operator would make them. To a browser, its script and its API are on two hosts. */
  get settings(): SaasVaultSettings {
    const { apiKey, ...shown } = account;
    return {
      ...shown,
      apiKey: new Secret(apiKey),
      apiBase: `http://127.0.0.1:${this.#port}`,
      sdkUrl: `http://localhost:${this.#port}/v1/card.js`,
      customerId: undefined,
    };
  }

  /** The same as the variables of an environment. */
  variablesFor(environment: "TEST" | "LIVE"): Readonly<Record<string, string>> {
    const { apiBase, publishableKey, profileId, sdkUrl } = this.settings;
    const named = {
      MODE: "saas",
      API_BASE: apiBase,
      API_KEY: account.apiKey,
      PUBLISHABLE_KEY: publishableKey,
      PROFILE_ID: profileId,
      SDK_URL: sdkUrl,
    };
    return Object.fromEntries(
      Object.entries(named).map(([name, value]) => [`SWITCHYARD_${environment}_VAULT_${name}`, value]),
    );
  }

  async setFaults(...faults: VaultFault[]): Promise<void> {
    await this.#child.ask("setFaults", faults);
  }

  record(): Promise<VaultRecord> {
    return this.#child.ask("record");
  }

  /** Confirms a card as the script in a page does; returns its token. */
  async tokenize(sdkAuthorization: string, number: string, holder?: string): Promise<string> {
    const claims = Buffer.from(sdkAuthorization, "base64").toString("utf8");
    const [, session] = /payment_method_session_id=(\w+)/.exec(claims) ?? [];
    const card = { card_number: number, card_exp_month: "04", card_exp_year: "2031", card_cvc: "123" };
    const response = await fetch(`${this.settings.apiBase}/v1/payment-method-sessions/${session}/confirm`, {
      method: "POST",
      headers: { authorization: sdkAuthorization, "content-type": "application/json" },
      body: JSON.stringify({
        payment_method_type: "card",
        payment_method_data: { card: { ...card, ...(holder !== undefined && { card_holder_name: holder }) } },
      }),
    });
    if (!response.ok) throw new Error(`the emulator answered ${response.status} to a card`);
    const answer = (await response.json()) as {
      associated_payment_methods: { payment_method_token: { data: string } }[];
    };
    return answer.associated_payment_methods[0]!.payment_method_token.data;
  }

  /** Sends SIGKILL: the port has no listener afterwards. */
  kill(): Promise<void> {
    return this.#child.kill();
  }

  async restart(): Promise<void> {
    this.#child = Child.start(join(import.meta.dirname, "main.ts"));
    await this.#child.ask("start", { ...account, port: this.#port });
  }

  close(): Promise<void> {
    return this.#child.close();
  }
}
