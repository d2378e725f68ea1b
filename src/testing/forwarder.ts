/** Stands where the vault stands in tests of connectors: fills one given card into the placeholders and sends the request itself. */
import type { CardForwarder, ForwardReply, ForwardRequest } from "../gateways/card-forwarder.ts";
import type { GatewayHttp } from "../gateways/gateway-http.ts";

// What the vault's destination table says of these operations.
const paths: Readonly<Record<string, string>> = {
  "SANDBOX_A authorize": "/a/v1/authorizations",
  "SANDBOX_B authorize": "/b/payments",
};

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
    const path = paths[`${request.connector} ${request.operation}`];
    if (path === undefined) throw new Error(`no path for ${request.connector} ${request.operation}`);
    const { headers, timeoutMs, signal } = request;
    const url = request.origin + path;
    const reply = await this.#http.send({ method: "POST", url, headers, body: this.#fill(request), timeoutMs, signal });
    return { reply, card: { brand: "visa", last4: this.#number.slice(-4) } };
  }

  #fill({ headers, body }: ForwardRequest): string {
    const values: Readonly<Record<string, string>> = {
      "card.number": this.#number,
      "card.expMonth": "03",
      "card.expYear": "2030",
      "card.cvc": "737",
      "card.holder": "Ada Lovelace",
    };
    const filled = (text: string) => text.replace(/\{\{([\w.]+)\}\}/g, (_, name: string) => values[name] ?? "");
    if (headers["content-type"] === "application/json") return filled(body);
    return new URLSearchParams([...new URLSearchParams(body)].map(([name, value]) => [name, filled(value)])).toString();
  }
}
