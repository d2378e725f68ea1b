/** Replaces the vault in tests of connectors: fills a card in by the vault's table and sends it. */
import type { CardForwarder, ForwardReply, ForwardRequest } from "../../card-vault/card-vault.ts";
import { credentialOf } from "../../platform/card-token.ts";
import { isProbe, probeCardOf } from "../../platform/gateway-facts.ts";
import type { GatewayHttp } from "../../platform/outbound-http.ts";
import { addressOf, destinations, findDestination } from "../../vault/destinations.ts";
import { planFill } from "../../vault/fill-body.ts";

/** Fills in the last card it received, and keeps the requests as the connector wrote them. */
export class TestForwarder implements CardForwarder {
  /** Every request as the connector wrote it, with placeholders. */
  readonly requests: ForwardRequest[] = [];
  readonly #http: GatewayHttp;
  #number: string;
  #holder: string | undefined = "Ada Lovelace";
  #postalCode: string | undefined;
  #cvc = "737";
  #brand: string | undefined;

  constructor(http: GatewayHttp, number: string) {
    this.#http = http;
    this.#number = number;
  }

  useCard(number: string, cvc = "737"): void {
    this.#number = number;
    this.#cvc = cvc;
  }

  useHolder(name: string | undefined, postalCode?: string): void {
    this.#holder = name;
    this.#postalCode = postalCode;
  }

  chooseBrand(brand: string | undefined): void {
    this.#brand = brand;
  }

  /** Rejects if the vault would refuse the request. */
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
      method: "POST",
      url: addressOf(destination, { environment: "test", origin, pathVariables, sandboxHosts }),
      headers: { ...request.headers, "content-type": destination.contentType },
      body: fill(
        isProbe({ token: request.token.expose(), sessionId: request.sessionId })
          ? probeCardOf(request.connector, new Date())
          : { number: this.#number, expMonth: 3, expYear: 2030, ...this.#secret(request), ...this.#billed(request) },
      ),
      timeoutMs,
      signal,
    });
    const brand = this.#brand ?? (this.#number.startsWith("5") ? "mastercard" : "visa");
    return { reply, card: { brand, last4: this.#number.slice(-4) }, chosenBrand: this.#brand };
  }

  /** The security code of a card, or the cryptogram of a wallet's token, which is one for all of its uses. */
  #secret({ token, sessionId }: ForwardRequest) {
    const credential = credentialOf(token.expose());
    if (credential === undefined) return { cvc: this.#cvc };
    const cryptogram = Buffer.from(`${sessionId} ${token.expose()}`.slice(-24)).toString("base64");
    const message = { messageId: "1", messageExpiration: "1" };
    return { wallet: { name: "apple_pay" as const, credential, cryptogram, eci: "5", ...message } };
  }

  #billed({ holder }: ForwardRequest) {
    return { holder: this.#holder ?? holder, postalCode: this.#postalCode, brand: this.#brand };
  }
}
