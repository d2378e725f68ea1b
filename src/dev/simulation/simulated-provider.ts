/**
 * The provider of authentication of a run, its bank, and a simulated network to it: requests and answers are refused,
 * lost and broken.
 */
import type { AuthenticationPolicy } from "../../core/rows/entities.ts";
import type { AuthenticationResult } from "../../gateways/authentication.ts";
import type {
  AuthenticationProvider,
  AuthenticationRequest,
  Prepared,
  ProviderAnswer,
  ProviderEnd,
  ProviderResult,
  Unavailable,
} from "../../gateways/authentication-provider.ts";
import type { CardOfRequest, GatewayCall, VerifyRow } from "../../gateways/connector.ts";
import { decodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { soonMs } from "./notifications.ts";
import type { SimulatedProcess, Stage } from "./simulated-process.ts";

/** The bank of one run: what it answers to a request, and its device check. */
export type ProviderBehaviour = {
  readonly rule: "AS_NEEDED" | "ALWAYS";
  readonly answer: "Y" | "A" | "N" | "R" | "U" | "I" | "challenge" | "unknownCard";
  readonly checksDevice: boolean;
  /** The policy of the merchant's rule; null for the default. */
  readonly policy: AuthenticationPolicy | null;
  /** True if the bank grants exemptions. */
  readonly grantsExemptions: boolean;
};

/** The bank of a run whose rule names no provider. */
export const noProvider: ProviderBehaviour = {
  rule: "AS_NEEDED",
  answer: "unknownCard",
  checksDevice: false,
  policy: null,
  grantsExemptions: false,
};

/** The provider's own records: one transaction for each authentication that was prepared. */
export class ProviderWorld {
  readonly behaviour: ProviderBehaviour;
  readonly #violate: (violation: string) => void;
  /** The statuses by the authentication's id. */
  readonly #statuses = new Map<string, string>();

  constructor(behaviour: ProviderBehaviour, violate: (violation: string) => void) {
    this.behaviour = behaviour;
    this.#violate = violate;
  }

  request(id: string): string {
    if (this.#statuses.has(id)) this.#violate("an authentication was requested twice");
    const { answer } = this.behaviour;
    this.#statuses.set(id, answer === "challenge" ? "C" : answer);
    return this.#statuses.get(id)!;
  }

  /** Takes the customer's answer. Returns false if the challenge is over. */
  answer(id: string, isPassed: boolean): boolean {
    if (this.#statuses.get(id) !== "C") return false;
    this.#statuses.set(id, isPassed ? "Y" : "N");
    return true;
  }

  statusOf(id: string): string | undefined {
    return this.#statuses.get(id);
  }

  /** Reports whether a proof is of an authentication that the bank granted. */
  isProof(cryptogram: string): boolean {
    const status = this.#statuses.get(cryptogram);
    return status === "Y" || status === "A";
  }
}

const lost: Unavailable = { type: "unavailable", reason: "no answer in time" };

export class SimulatedProvider implements AuthenticationProvider {
  readonly gateway = "SANDBOX_3DS";
  readonly credentialFields = [];
  readonly forwardFeatures = [];
  readonly #process: SimulatedProcess;
  readonly #stage: Stage;
  readonly #world: ProviderWorld;

  constructor(parts: { process: SimulatedProcess; stage: Stage; world: ProviderWorld }) {
    this.#process = parts.process;
    this.#stage = parts.stage;
    this.#world = parts.world;
  }

  async prepare(call: GatewayCall, { returnUrl }: CardOfRequest & { readonly returnUrl: string }): Promise<Prepared> {
    const { answer, checksDevice } = this.#world.behaviour;
    const id = decodeId("atn", returnUrl.split(".")[1] ?? "") ?? "";
    const method = { url: "https://bank.example/check", method: "POST", fields: {} } as const;
    return this.#exchange<Prepared>("prepare", call, () =>
      answer === "unknownCard"
        ? { type: "unavailable", reason: "unknown card" }
        : { type: "ready", keep: new Secret(id), network: "visa", ...(checksDevice && { method }) },
    );
  }

  async authenticate(call: GatewayCall, { keep }: AuthenticationRequest): Promise<ProviderAnswer> {
    const id = keep.expose();
    return this.#exchange<ProviderAnswer>("authenticate", call, () => {
      const status = this.#world.request(id);
      if (status !== "C") return endOf(id, status);
      return { type: "challenge", keep, action: { url: "https://bank.example", method: "POST", fields: {} } };
    });
  }

  async result(call: GatewayCall, keep: Secret): Promise<ProviderResult> {
    const id = keep.expose();
    return this.#exchange<ProviderResult>("result", call, () => {
      const status = this.#world.statusOf(id);
      return status === undefined || status === "C" ? { type: "waiting" } : endOf(id, status);
    });
  }

  async verify(): Promise<readonly VerifyRow[]> {
    return [];
  }

  /** Sends one request and returns its answer. A request that was sent continues, even if its process dies. */
  async #exchange<Answer extends object>(
    what: string,
    { timeoutMs }: GatewayCall,
    execute: () => Answer,
  ): Promise<Answer | Unavailable> {
    const { timeline, faults, dice, history } = this.#stage;
    const strikes = (kind: Parameters<typeof faults.strikes>[0]) => faults.strikes(kind, timeline.nowMs);
    // The core looks at its lease in the moment of this call, so nothing stops the process between look and sending.
    const isRefused =
      what === "authenticate"
        ? strikes("refuseConnection")
        : await this.#process.step(`send provider: ${what}`, async () => ({
            type: "value",
            value: strikes("refuseConnection"),
          }));
    if (isRefused) return lost;
    return this.#process.wait<Answer | Unavailable>((arrive) => {
      timeline.after(timeoutMs, () => arrive(lost));
      if (strikes("loseRequest")) return;
      timeline.after(dice.between(10, 900), () => {
        const answer = execute();
        history.add(timeline.nowMs, "provider", () => `${what} is executed: ${JSON.stringify(answer)}`);
        if (strikes("loseAnswer")) return;
        timeline.after(soonMs(dice), () => arrive(strikes("breakAnswer") ? lost : answer));
      });
    });
  }
}

function endOf(id: string, transStatus: string): ProviderEnd {
  const isProven = transStatus === "Y" || transStatus === "A";
  const eci = transStatus === "Y" ? "05" : "06";
  const result: AuthenticationResult = { version: "2.2.0", transStatus, ...(isProven && { eci, dsTransactionId: id }) };
  const told = { version: "2.2.0", directoryStatus: "Y", challengeIndicator: "01", dsTransactionId: id };
  return { type: "ended", result, ...(isProven && { proof: { ...told, transStatus, eci, cryptogram: id } }) };
}
