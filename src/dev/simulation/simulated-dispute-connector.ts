/** The parts of a connector that read and answer disputes, and read statements, over the simulated network. */
import type { GatewayCall, GatewayDisputeAnswers, GatewayDisputes } from "../../gateways/connector.ts";
import type { ResponseAnswer } from "../../gateways/dispute-answers.ts";
import type { DisputePage } from "../../gateways/dispute-readings.ts";
import type { ListedStatements, StatementPage } from "../../gateways/statements.ts";
import type { Exchange, ExchangeResult } from "./gateway-world.ts";
import type { AnswerReply, MadeDispute } from "./simulated-disputes.ts";
import type { GatewayShape, SimulatedGateway } from "./simulated-gateway.ts";

type Parts = {
  readonly epochMs: number;
  readonly at: (call: GatewayCall) => SimulatedGateway;
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
            .disputes.made.filter(isListed)
            .map((one) => at(call).disputes.readingOf(one, epochMs)),
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
            .disputes.made.filter(({ payment }) => payment === gatewayReference)
            .map((one) => at(call).disputes.readingOf(one, epochMs)),
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
      execute: () => at(call).disputes.answer(gatewayReference, { key, type }),
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
        execute: () => ({ takes: at(call).disputes.takesAnswer(gatewayReference) }),
      });
      if (reached.type !== "reply") return undefined;
      const { takes } = reached.reply;
      return { accept: takes, defenses: takes ? [{ documentTypes: [] }] : [] };
    },
    accept: (call, { gatewayReference }) => answer(call, gatewayReference, "ACCEPT"),
    submit: (call, { gatewayReference }) => answer(call, gatewayReference, "EVIDENCE"),
  };
}

const pageMax = 2;
const everyMs = 10 * 60_000;
// A reading begins so long before the last one, so that most lines are read several times.
const lagMs = 30 * 60_000;

/** Reads lines, and the payouts that have them where the gateway says so, a few on each page. */
export function simulatedStatements({ epochMs, at, exchange }: Parts, shape: GatewayShape): ListedStatements {
  const read = async <Record>(
    call: GatewayCall,
    page: string | undefined,
    list: () => readonly Record[],
  ): Promise<StatementPage<Record>> => {
    const reached = await exchange({
      sent: { type: "readStatements", attemptReference: "" },
      timeoutMs: call.timeoutMs,
      lateMs: 0,
      execute: () => ({ listed: list() }),
    });
    if (reached.type !== "reply") return { type: "unknown", reason: "no answer" };
    const { listed } = reached.reply;
    const from = Number(page ?? "0");
    const records = listed.slice(from, from + pageMax);
    return { type: "page", records, ...(from + pageMax < listed.length && { next: String(from + pageMax) }) };
  };
  return {
    type: "listed",
    everyMs,
    lagMs,
    readLines: (call, { since, until, payout, page }) => {
      const times = { sinceMs: since.getTime() - epochMs, untilMs: until.getTime() - epochMs };
      return read(call, page, () => at(call).statements.lines({ ...times, payout }));
    },
    ...(shape.refusesVoidedReference && {
      readPayouts: (call, { page }) => read(call, page, () => at(call).statements.payouts()),
    }),
  };
}
