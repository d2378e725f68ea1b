/** A payment over REST that is captured later, with the records of the gateway that holds it. */
import { randomUUID } from "node:crypto";
import { RestClient } from "../../client/merchant/rest-client.ts";
import type { DemoFile } from "../../demo/demo-file.ts";
import type { SandboxControl } from "../testing/sandbox-control.ts";
import { ApiCheckout } from "./api-checkout.ts";

type Demo = { readonly file: DemoFile; readonly sandbox: SandboxControl };

/** A held payment of 49.00 EUR of the demo's first merchant. */
export class HeldPayment {
  readonly sessionId: string;
  /** The gateway that holds, as the customer's page shows it. */
  readonly via: string | undefined;
  readonly #sandbox: SandboxControl;
  readonly #client: RestClient;

  private constructor({ file, sandbox }: Demo, shown: { sessionId: string; via: string | undefined }) {
    this.sessionId = shown.sessionId;
    this.via = shown.via;
    this.#sandbox = sandbox;
    this.#client = new RestClient({ restBase: file.restBase, secretKey: file.merchants[0]!.test.secretKey });
  }

  static async hold(demo: Demo, card: string, fields: object = {}): Promise<HeldPayment> {
    const checkout = new ApiCheckout(demo.file);
    const opened = await checkout.open({ capture: "manual", ...fields });
    const { outcome } = await checkout.submit(opened, await checkout.tokenize(opened, card));
    const via = outcome && "success" in outcome ? outcome.success?.capturedVia : undefined;
    return new HeldPayment(demo, { sessionId: opened.sessionId, via });
  }

  read() {
    return this.#client.getSession(this.sessionId);
  }

  capture(amountMinor?: number) {
    return this.#client.captureSession(this.sessionId, { amountMinor });
  }

  cancel() {
    return this.#client.cancelSession(this.sessionId);
  }

  refund(amountMinor?: number) {
    return this.#client.createRefund(this.sessionId, { amountMinor }, { idempotencyKey: randomUUID() });
  }

  async books(): Promise<string[]> {
    return (await this.authorizations()).map(({ acquirer, status, capturedValue, refunds }) => {
      const refunded = refunds.reduce((sum, one) => sum + (one.status === "failed" ? 0 : one.value), 0);
      return [acquirer, status, capturedValue, refunded].join(" ");
    });
  }

  async authorizations() {
    const { attempts } = await this.read();
    return (await Promise.all(attempts.map(({ attemptId }) => this.#sandbox.authorizations(attemptId)))).flat();
  }
}
