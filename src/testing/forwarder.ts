/** Stands where the vault stands in tests of connectors: fills one given card in by the vault's own table and sends the request itself. */
import type { CardForwarder, ForwardReply, ForwardRequest } from "../gateways/card-forwarder.ts";
import type { GatewayHttp } from "../gateways/gateway-http.ts";
import { addressOf, destinations, findDestination } from "../vault/destinations.ts";
import { planFill } from "../vault/fill-body.ts";
import { isProbe, probeCard } from "../vault/probe-card.ts";

/** Fills in the card it was given last, and keeps what the connector had written. */
export class TestForwarder implements CardForwarder {
  /** Every request as the connector wrote it, placeholders and all. */
  readonly requests: ForwardRequest[] = [];
  readonly #http: GatewayHttp;
  #number: string;
  #holder = "Ada Lovelace";

  constructor(http: GatewayHttp, number: string) {
    this.#http = http;
    this.#number = number;
  }

  /** The card of the requests to come. */
  useCard(number: string): void {
    this.#number = number;
  }

  /** Whose card it is, from now on. */
  useHolder(name: string): void {
    this.#holder = name;
  }

  /** Rejects where the vault would refuse the request. */
  async forward(request: ForwardRequest): Promise<ForwardReply> {
    this.requests.push(request);
    const destination = findDestination(destinations, request);
    if (Object.keys(request.headers).some((name) => name.startsWith("content-"))) {
      throw new Error("the vault fixes the content type and refuses a request that names one");
    }
    const { origin, pathVariables, timeoutMs, signal } = request;
    const sandboxHosts = [new URL(origin).host];
    const fill = planFill(destination, Buffer.from(request.body));
    const reply = await this.#http.send({
      method: destination.method,
      url: addressOf(destination, { environment: "test", origin, pathVariables, sandboxHosts }),
      headers: { ...request.headers, "content-type": destination.contentType },
      body: fill(
        isProbe({ token: request.token.expose(), sessionId: request.sessionId })
          ? probeCard(new Date())
          : { number: this.#number, expMonth: 3, expYear: 2030, cvc: "737", holder: this.#holder },
      ),
      timeoutMs,
      signal,
    });
    return { reply, card: { brand: "visa", last4: this.#number.slice(-4) } };
  }
}
