/** The merchant's side of webhooks: a real HTTP server that checks signatures, and is sometimes slow or broken. */
import { setTimeout as pause } from "node:timers/promises";
import { sha256 } from "../../../platform/secrets.ts";
import { type ReceivedRequest, Receiver } from "../../testing/receiver.ts";
import { objectionsTo, tamperingNames } from "../../testing/stock-verifiers.ts";
import type { Dice } from "../dice.ts";
import type { WebhookRecord } from "./records.ts";
import type { Tally } from "./tally.ts";

type Answer = { readonly status: number } | "reset";

// The share of events whose first webhook is refused. No further one is: each refusal delays the next delivery attempt,
// at last by hours.
const refusedRate = 0.06;
const cutRate = 0.02;
const slowRate = 0.06;
const slowMsMax = 8_000;

/** Receives webhooks, unreliably while faults are on, and keeps everything it received. */
export class Merchant {
  readonly #receiver: Receiver;
  readonly #dice: Dice;
  readonly #tally: Tally;
  readonly #arrivals: WebhookRecord[] = [];
  readonly #known = new Set<string>();
  #signingSecret: string | undefined;
  #isCalm = false;

  private constructor(receiver: Receiver, parts: { dice: Dice; tally: Tally }) {
    this.#receiver = receiver;
    this.#dice = parts.dice;
    this.#tally = parts.tally;
    receiver.answerWith((request) => this.#receive(request));
  }

  static async start(parts: { dice: Dice; tally: Tally }): Promise<Merchant> {
    return new Merchant(await Receiver.start(), parts);
  }

  get webhookUrl(): string {
    return `${this.#receiver.url}/webhooks`;
  }

  /** The webhooks received so far, except verifications of the address. */
  get arrivals(): readonly WebhookRecord[] {
    return this.#arrivals;
  }

  trust(signingSecret: string): void {
    this.#signingSecret = signingSecret;
  }

  /** Accepts everything at once from now on. */
  calm(): void {
    this.#isCalm = true;
  }

  close(): Promise<void> {
    return this.#receiver.close();
  }

  async #receive({ headers, body }: ReceivedRequest): Promise<Answer> {
    const eventId = String(headers["webhook-id"]);
    const { type } = JSON.parse(body.toString()) as { type: string };
    if (type === "webhook_endpoint.test" || this.#signingSecret === undefined) return { status: 204 };
    const isKnown = this.#known.has(eventId);
    this.#known.add(eventId);
    const answer = await this.#decide(isKnown);
    this.#tally.add(`webhook ${typeof answer === "string" ? "cut" : answer.status}`);
    this.#arrivals.push({
      eventId,
      body: sha256(body).toString("hex"),
      signed: this.#isSigned({ body, headers }),
      accepted: typeof answer !== "string" && answer.status < 300,
    });
    return answer;
  }

  async #decide(isKnown: boolean): Promise<Answer> {
    if (this.#isCalm || isKnown) return { status: 204 };
    if (this.#dice.chance(refusedRate)) return { status: 500 };
    if (this.#dice.chance(cutRate)) return "reset";
    if (this.#dice.chance(slowRate)) await pause(this.#dice.between(0, slowMsMax));
    return { status: 204 };
  }

  /** True if both stock verifiers accept it and refuse it with one change. */
  #isSigned(webhook: Pick<ReceivedRequest, "body" | "headers">): boolean {
    const tampering = tamperingNames[this.#arrivals.length % tamperingNames.length]!;
    return objectionsTo(webhook, [this.#signingSecret!], [tampering]).length === 0;
  }
}
