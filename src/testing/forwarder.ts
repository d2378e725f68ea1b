/** Stands where the vault stands in tests of connectors: fills one given card into the placeholders and sends the request itself. */
import type { CardForwarder, ForwardReply, ForwardRequest } from "../gateways/card-forwarder.ts";
import type { GatewayHttp } from "../gateways/gateway-http.ts";

// What the vault's destination table says of these operations.
const destinations: Readonly<Record<string, { path: string; contentType: string }>> = {
  "SANDBOX_A authorize": { path: "/a/v1/authorizations", contentType: "application/x-www-form-urlencoded" },
  "SANDBOX_B authorize": { path: "/b/payments", contentType: "application/json" },
  "STRIPE payment_method": { path: "/v1/payment_methods", contentType: "application/x-www-form-urlencoded" },
};

/** Fills in the card it was given last, and keeps what the connector had written. */
export class TestForwarder implements CardForwarder {
  /** Every request as the connector wrote it, placeholders and all. */
  readonly requests: ForwardRequest[] = [];
  readonly #http: GatewayHttp;
  #number: string;

  constructor(http: GatewayHttp, number: string) {
    this.#http = http;
    this.#number = number;
  }

  /** The card of the requests to come. */
  useCard(number: string): void {
    this.#number = number;
  }

  async forward(request: ForwardRequest): Promise<ForwardReply> {
    this.requests.push(request);
    const destination = destinations[`${request.connector} ${request.operation}`];
    if (destination === undefined) throw new Error(`no destination for ${request.connector} ${request.operation}`);
    if (Object.keys(request.headers).some((name) => name.startsWith("content-"))) {
      throw new Error("the vault fixes the content type and refuses a request that names one");
    }
    const { path, contentType } = destination;
    const { timeoutMs, signal } = request;
    const reply = await this.#http.send({
      method: "POST",
      url: request.origin + path,
      headers: { ...request.headers, "content-type": contentType },
      body: this.#fill(request.body, contentType),
      timeoutMs,
      signal,
    });
    return { reply, card: { brand: "visa", last4: this.#number.slice(-4) } };
  }

  #fill(body: string, contentType: string): string {
    const values: Readonly<Record<string, string>> = {
      "card.number": this.#number,
      "card.expMonth": "03",
      "card.expYear": "2030",
      "card.cvc": "737",
      "card.holder": "Ada Lovelace",
    };
    const filled = (text: string) => text.replace(/\{\{([\w.]+)\}\}/g, (_, name: string) => values[name] ?? "");
    if (contentType === "application/json") return filled(body);
    return new URLSearchParams([...new URLSearchParams(body)].map(([name, value]) => [name, filled(value)])).toString();
  }
}
