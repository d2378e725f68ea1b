/** Customers who pay one after the other, over connections that they keep, until the test ends them. */
import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { PaymentSessionService } from "../../../gen/payments/v1/payment_session_pb.ts";
import { createGrpcClient, type GrpcClient } from "../../platform/grpc-client.ts";
import type { RollingSite } from "./rolling-site.ts";

type Json = Readonly<Record<string, unknown>>;
type Session = { readonly sessionId: string; readonly clientSecret: string; readonly sdkAuthorization: string };

// Approved at the first gateway, and declined there but approved at the second.
const approvedCard = "4242424242424242";
const failingOverCard = "4000000000000002";
// Uses one connection at a time, and reuses it only if it was idle for less than the server's shutdown grace: a client
// learns of the end of an idle connection only when it arrives (RFC 9112, 9.3.1).
const kept = { keepAlive: true, maxSockets: 1, timeout: 300 };
// The vault counts the calls of one address, 60 a minute.
const callsPerAddress = 40;
// It also counts the calls of one merchant, 1 200 a minute. The time is shorter than a connection is kept, so that a
// stopping process has customers.
const thinkMs = 200;
const answerWithinMs = 20_000;
// A payment whose submission was answered early is over in milliseconds.
const looksMax = 400;
const lookEveryMs = 25;

/** Customers at a shop, one after the other, whose calls are never repeated: a failed call is recorded as a failure. */
export class Customers {
  readonly paid: string[] = [];
  readonly failures: string[] = [];
  /** Number of answers that asked for another connection next time. */
  sentAway = 0;
  readonly #site: RollingSite;
  readonly #number: number;
  readonly #grpc: GrpcClient<typeof PaymentSessionService>;
  readonly #toEdge = new Agent(kept);
  #toVault = new Agent(kept);
  #payments = 0;

  constructor(site: RollingSite, number: number) {
    this.#site = site;
    this.#number = number;
    // A separate connection, which grpc-js would otherwise share.
    this.#grpc = createGrpcClient(PaymentSessionService, site.addresses.grpcAddress, undefined, {
      "grpc.use_local_subchannel_pool": 1,
    });
  }

  /** Pays until `enough` is aborted or a payment has failed. Never rejects. */
  async payUntil(enough: AbortSignal): Promise<void> {
    while (!enough.aborted && this.failures.length === 0) {
      const turn = this.#payments++;
      try {
        const session = await (turn % 2 === 0 ? this.#createOverRest(turn) : this.#createOverGrpc(turn));
        await this.#pay(session, turn);
        this.paid.push(session.sessionId);
        await pause(thinkMs);
      } catch (error) {
        this.failures.push(`payment ${turn} of customers ${this.#number}: ${(error as Error).message}`);
      }
    }
  }

  /** Submits one payment with a card that the first gateway approves; the answer is the first one that comes. */
  async submitOne(): Promise<{ sessionId: string; answer: Promise<Json> }> {
    const turn = ++this.#payments;
    const session = await this.#createOverRest(turn);
    const token = await this.#tokenize(session, turn, approvedCard);
    return { sessionId: session.sessionId, answer: this.#checkout(session, "SubmitPayment", { vaultToken: token }) };
  }

  close(): void {
    this.#grpc.close();
    this.#toEdge.destroy();
    this.#toVault.destroy();
  }

  async #createOverRest(turn: number): Promise<Session> {
    const key = this.#site.merchant.secretKey;
    const url = `${this.#site.addresses.apiOrigin}/api/v1/payment-sessions`;
    const made = await this.#send(this.#toEdge, { url, bearer: key, body: this.#order(turn) });
    const { sessionId, clientSecret, vault } = made as Json & { vault: { sdkAuthorization: string } };
    return { sessionId: String(sessionId), clientSecret: String(clientSecret), ...vault };
  }

  async #createOverGrpc(turn: number): Promise<Session> {
    const options = {
      timeoutMs: answerWithinMs,
      metadata: { authorization: `Bearer ${this.#site.merchant.secretKey}` },
    };
    const { amountMinor, ...order } = this.#order(turn);
    const made = await this.#grpc.createPaymentSession({ ...order, amountMinor: BigInt(amountMinor) }, options);
    const { sessionId, clientSecret, vault } = made;
    const { paymentSession } = await this.#grpc.getPaymentSession({ sessionId }, options);
    if (paymentSession?.sessionId !== sessionId) throw new Error("another session than was requested");
    return { sessionId, clientSecret, sdkAuthorization: String(vault?.sdkAuthorization) };
  }

  async #tokenize({ sdkAuthorization }: Session, turn: number, number: string): Promise<unknown> {
    const body = { number, expMonth: 4, expYear: new Date().getUTCFullYear() + 3, cvc: "123" };
    const url = `${this.#site.addresses.vaultOrigin}/tokens`;
    return (await this.#send(this.#vaultAgent(turn), { url, bearer: sdkAuthorization, body })).token;
  }

  async #pay(session: Session, turn: number): Promise<void> {
    const token = await this.#tokenize(session, turn, turn % 3 === 0 ? failingOverCard : approvedCard);
    let checkout = await this.#checkout(session, "SubmitPayment", { vaultToken: token });
    for (let looks = 0; checkout.processing === true && looks < looksMax; looks++) {
      await pause(lookEveryMs);
      checkout = await this.#checkout(session, "GetCheckout", {});
    }
    if (checkout.status !== "SUCCEEDED") throw new Error(`${session.sessionId} ended ${JSON.stringify(checkout)}`);
  }

  async #checkout({ sessionId, clientSecret }: Session, rpc: string, fields: object): Promise<Json> {
    const url = `${this.#site.addresses.apiOrigin}/payments.v1.CheckoutService/${rpc}`;
    const answer = await this.#send(this.#toEdge, { url, bearer: clientSecret, body: { sessionId, ...fields } });
    return answer.checkout as Json;
  }

  #order(turn: number) {
    return { amountMinor: 4_900 + turn, currency: "EUR", orderRef: `order-${this.#number}-${turn}` };
  }

  /** Card calls regularly change their address in the loopback network, as if from other customers. */
  #vaultAgent(turn: number): Agent {
    if (turn % callsPerAddress === 0) {
      this.#toVault.destroy();
      const localAddress = `127.0.${this.#number + 1}.${Math.floor(turn / callsPerAddress) + 1}`;
      this.#toVault = new Agent({ ...kept, localAddress });
    }
    return this.#toVault;
  }

  #send(agent: Agent, { url, bearer, body }: { url: string; bearer: string; body: object }): Promise<Json> {
    const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
    const { port, pathname: path } = new URL(url);
    return new Promise((resolve, reject) => {
      const sent = request(
        { host: "127.0.0.1", port, path, method: "POST", agent, headers, timeout: answerWithinMs },
        async (answer) => {
          if (answer.headers.connection === "close") this.sentAway++;
          let text = "";
          try {
            for await (const chunk of answer.setEncoding("utf8")) text += chunk;
            const isFine = answer.statusCode === 200 || answer.statusCode === 201;
            if (isFine) resolve(JSON.parse(text));
            else reject(new Error(`${path} was answered ${answer.statusCode}: ${text}`));
          } catch (error) {
            reject(error);
          }
        },
      );
      sent.on("timeout", () => sent.destroy(new Error("no answer in time")));
      sent.on("error", (error) => reject(new Error(`${path}: ${error.message}`)));
      sent.end(JSON.stringify(body));
    });
  }
}
