/** The parts of a connector that read and answer disputes, over the simulated network. */
import type { GatewayCall, GatewayDisputeAnswers, GatewayDisputes } from "../../gateways/connector.ts";
import type { ResponseAnswer } from "../../gateways/dispute-answers.ts";
import type { DisputePage } from "../../gateways/dispute-readings.ts";
import type { Exchange, ExchangeResult } from "./gateway-world.ts";
import type { AnswerReply, MadeDispute, SimulatedDisputes } from "./simulated-disputes.ts";

type Parts = {
  readonly epochMs: number;
  readonly at: (call: GatewayCall) => SimulatedDisputes;
  readonly exchange: <Reply extends object>(exchange: Exchange<Reply>) => Promise<ExchangeResult<Reply>>;
  /** The time after our timeout within which an answer may still be taken. */
  readonly lateMs: number;
};

/** Reads page by page, with one dispute on each page. */
export function simulatedReader(
  { epochMs, at, exchange }: Parts,
  listedBy: GatewayDisputes["listedBy"],
): GatewayDisputes {
  return {
    listedBy,
    listDisputes: async (call, { since, page = "0" }): Promise<DisputePage> => {
      const isListed = ({ openedAtMs, changedAtMs }: MadeDispute) =>
        epochMs + (listedBy === "opened" ? openedAtMs : changedAtMs) >= since.getTime();
      const reached = await exchange({
        sent: { type: "readDisputes", attemptReference: "" },
        timeoutMs: call.timeoutMs,
        lateMs: 0,
        execute: () => ({
          listed: at(call)
            .made.filter(isListed)
            .map((one) => at(call).readingOf(one, epochMs)),
        }),
      });
      if (reached.type !== "reply") return { type: "unknown", reason: "no answer" };
      const { listed } = reached.reply;
      const index = Number(page);
      return {
        type: "page",
        disputes: listed.slice(index, index + 1),
        ...(index + 1 < listed.length && { next: String(index + 1) }),
      };
    },
    disputesOf: async (call, { attemptReference, gatewayReference }) => {
      const reached = await exchange({
        sent: { type: "readDisputes", attemptReference },
        timeoutMs: call.timeoutMs,
        lateMs: 0,
        execute: () => ({
          found: at(call)
            .made.filter(({ payment }) => payment === gatewayReference)
            .map((one) => at(call).readingOf(one, epochMs)),
        }),
      });
      return reached.type === "reply" ? reached.reply.found : undefined;
    },
  };
}

/** Answers disputes. A gateway that cannot be read knows no repeat. */
export function simulatedAnswerer({ at, exchange, lateMs }: Parts): GatewayDisputeAnswers {
  const answer = async (
    call: Parameters<GatewayDisputeAnswers["accept"]>[0],
    gatewayReference: string,
    type: "ACCEPT" | "EVIDENCE",
  ): Promise<ResponseAnswer> => {
    const { idempotencyKey: key, timeoutMs } = call;
    const reached = await exchange<AnswerReply>({
      sent: { type: "answerDispute", attemptReference: "", responseReference: key },
      timeoutMs,
      lateMs,
      execute: () => at(call).answer(gatewayReference, { key, type }),
    });
    if (reached.type === "unknown") return { type: "unknown", reason: reached.reason };
    if (reached.type === "refused") return { type: "unknown", reason: "connection refused" };
    return reached.reply.type === "done" ? { type: "taken" } : { type: "refused", gatewayCode: "closed" };
  };
  return {
    takesExplanation: true,
    options: async (call, { gatewayReference }) => {
      const reached = await exchange({
        sent: { type: "readDisputes", attemptReference: "" },
        timeoutMs: call.timeoutMs,
        lateMs: 0,
        execute: () => ({ takes: at(call).takesAnswer(gatewayReference) }),
      });
      if (reached.type !== "reply") return undefined;
      const { takes } = reached.reply;
      return { accept: takes, defenses: takes ? [{ documentTypes: [] }] : [] };
    },
    accept: (call, { gatewayReference }) => answer(call, gatewayReference, "ACCEPT"),
    submit: (call, { gatewayReference }) => answer(call, gatewayReference, "EVIDENCE"),
  };
}
