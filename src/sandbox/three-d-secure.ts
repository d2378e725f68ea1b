/**
 * SANDBOX_3DS: a 3DS server, a directory and a bank in one, in the protocol of 3dsecure.io (docs.3dsecure.io, 2026)
 * with the fields of EMV 3DS 2.2. The card decides the bank's answer.
 */
import { randomBytes, randomUUID } from "node:crypto";
import type { DirectoryBehaviour } from "../gateways/sandbox/card-behaviour.ts";
import type { SandboxClock } from "../gateways/sandbox/clock.ts";
import { directoryCardBehaviour } from "../gateways/sandbox/provider-cards.ts";
import { currencyNumber } from "../platform/iso-numbers.ts";
import { amountInWords, isoCurrencies } from "../platform/money.ts";
import { parseJsonObject } from "../platform/outbound-http.ts";
import type { Accounts } from "./accounts.ts";
import { bankPage, blankPage, postingPage } from "./bank-forms.ts";
import type { Book, Books } from "./books.ts";
import type { SentProof } from "./challenges.ts";
import type { Route, SandboxAnswer, SandboxRequest } from "./routes.ts";

type Json = Readonly<Record<string, unknown>>;

/** A transaction of the 3DS server. */
export type Transaction = {
  readonly id: string;
  readonly number: string;
  readonly behaviour: DirectoryBehaviour;
  readonly account: string;
  areq?: Json;
  readonly acsTransID: string;
  readonly dsTransID: string;
  readonly authenticationValue: string;
  /** The bank's last status; C during the challenge. */
  transStatus?: string;
  challengeCancel?: string;
  askedAtMs?: number;
  /** The time at which the customer's browser brought the challenge request. */
  shownAtMs?: number;
};

// The bank drops a challenge whose request has not come by then (EMV 3DS 2.2, 5.5).
const firstRequestMs = 30_000;
// The customer needs this long to approve in the bank's app.
const appMs = 5_000;
// A day of a busy demo; beyond it the oldest are dropped.
const transactionsMax = 10_000;

/** The transactions of the 3DS server, and what acquirers may ask about them. */
export class Directory {
  readonly #transactions: Book<Transaction>;
  readonly #overrides = new Map<string, DirectoryBehaviour>();
  readonly #clock: SandboxClock;

  constructor(clock: SandboxClock, books: Books) {
    this.#clock = clock;
    this.#transactions = books.open("3ds transaction", transactionsMax);
  }

  save(transaction: Transaction): void {
    this.#transactions.set(transaction.id, transaction);
  }

  setBehaviour(number: string, behaviour: DirectoryBehaviour): void {
    this.#overrides.set(number, behaviour);
  }

  open(number: string, account: string): Transaction | undefined {
    const behaviour = this.#overrides.get(number) ?? directoryCardBehaviour(number);
    if (behaviour === undefined) return undefined;
    const transaction: Transaction = {
      id: randomUUID(),
      number,
      behaviour,
      account,
      acsTransID: randomUUID(),
      dsTransID: randomUUID(),
      authenticationValue: randomBytes(20).toString("base64"),
    };
    this.save(transaction);
    return transaction;
  }

  find(id: unknown): Transaction | undefined {
    const found = this.#transactions.get(String(id));
    if (found?.transStatus !== "C") return found;
    const nowMs = this.#clock.nowMs();
    if (found.shownAtMs === undefined && nowMs >= (found.askedAtMs ?? nowMs) + firstRequestMs) {
      found.transStatus = "N";
      found.challengeCancel = "05";
      this.save(found);
    }
    if (found.behaviour.answer === "app" && found.shownAtMs !== undefined && nowMs >= found.shownAtMs + appMs) {
      found.transStatus = "Y";
      this.save(found);
    }
    return found;
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  /** Reports whether a proof is of this card and amount. */
  isProof(proof: SentProof, payment: { readonly number: string; readonly value: number }): boolean {
    const found = this.#transactions.values().find(({ dsTransID }) => dsTransID === proof.dsTransactionId);
    return (
      found !== undefined &&
      (found.transStatus === "Y" || found.transStatus === "A") &&
      found.authenticationValue === proof.cryptogram &&
      found.number === payment.number &&
      found.areq?.purchaseAmount === String(payment.value)
    );
  }
}

/** Returns the routes of the 3DS server, the bank's device check and the bank's page. */
export function threeDSecureRoutes({
  directory,
  accounts,
}: {
  readonly directory: Directory;
  readonly accounts: Accounts;
}): readonly Route[] {
  const server = (
    name: string,
    handle: (json: Json, account: string, request: SandboxRequest) => SandboxAnswer,
  ): Route => ({
    method: "POST",
    path: new RegExp(`^/${name}$`),
    operation: `3ds.${name}`,
    handle: async (request) => {
      const account = accounts.openedBy(String(request.headers.apikey));
      if (account === undefined) return { status: 401, body: { message: "Invalid API Key" } };
      const json = parseJsonObject(Buffer.from(request.body));
      return json === undefined ? erro("203", "the body is not JSON") : handle(json, account.id, request);
    },
  });
  const page = (method: "GET" | "POST", path: string, handle: (request: SandboxRequest) => SandboxAnswer): Route => ({
    method,
    path: new RegExp(`^/acs/${path}$`),
    operation: `3ds.${path.split("/")[0]}`,
    handle: async (request) => handle(request),
  });
  return [
    server("preauth", (json, account, request) => preauth(directory, json, account, request)),
    server("auth", (json, account, request) => auth(directory, json, account, request)),
    server("postauth", (json, account) => postauth(directory, json, account)),
    page("POST", "method", (request) => deviceCheck(directory, request)),
    page("POST", "challenge", (request) => challenge(directory, request)),
    page("GET", "answer/(?<id>[^/]+)", (request) => look(directory, request)),
    page("POST", "answer/(?<id>[^/]+)", (request) => answer(directory, request)),
  ];
}

function erro(errorCode: string, errorDetail: string, threeDSServerTransID?: string): SandboxAnswer {
  const body = { messageType: "Erro", messageVersion: "2.2.0", errorCode, errorComponent: "S", errorDetail };
  return { status: 200, body: { ...body, ...(threeDSServerTransID && { threeDSServerTransID }) } };
}

function preauth(directory: Directory, json: Json, account: string, request: SandboxRequest): SandboxAnswer {
  const transaction = directory.open(String(json.acctNumber), account);
  if (transaction === undefined) return erro("305", "BIN not enrolled by any known scheme");
  const { id, behaviour } = transaction;
  const body = {
    threeDSServerTransID: id,
    dsStartProtocolVersion: "2.1.0",
    dsEndProtocolVersion: "2.2.0",
    acsStartProtocolVersion: "2.1.0",
    acsEndProtocolVersion: "2.2.0",
    ...(behaviour.method && { threeDSMethodURL: `${originOf(request)}/acs/method` }),
  };
  return { status: 200, body, about: id };
}

function auth(directory: Directory, json: Json, account: string, request: SandboxRequest): SandboxAnswer {
  const id = String(json.threeDSServerTransID);
  const transaction = directory.find(id);
  if (transaction?.account !== account || transaction.number !== json.acctNumber) return erro("301", "unknown", id);
  if (transaction.areq !== undefined) return erro("312", "transaction id was used", id);
  if (!isName(json.cardholderName)) return erro("203", "cardholderName", id);
  transaction.areq = json;
  directory.save(transaction);
  const { behaviour } = transaction;
  if (behaviour.answer === "down") return erro("405", "Connection timeout", id);
  const isAsked = behaviour.answer === "challenge" || behaviour.answer === "app" || behaviour.answer === "blank";
  transaction.transStatus = isAsked ? "C" : behaviour.answer;
  if (isAsked) transaction.askedAtMs = directory.nowMs();
  return {
    status: 200,
    body: {
      messageType: "ARes",
      ...resultOf(transaction),
      acsTransID: transaction.acsTransID,
      ...(behaviour.message && { cardholderInfo: behaviour.message }),
      ...(isAsked && { acsURL: `${originOf(request)}/acs/challenge`, acsChallengeMandated: "Y" }),
    },
    about: id,
  };
}

/** Reports whether text is a name of EMV 3DS 2.2: 2 to 45 characters of ASCII. */
function isName(text: unknown): boolean {
  return typeof text === "string" && /^[ -~]{2,45}$/.test(text);
}

function postauth(directory: Directory, json: Json, account: string): SandboxAnswer {
  const id = String(json.threeDSServerTransID);
  const transaction = directory.find(id);
  if (transaction?.account !== account) return erro("301", "unknown", id);
  if (transaction.transStatus === undefined || transaction.transStatus === "C") return erro("313", "no result", id);
  return { status: 200, body: { messageType: "RReq", ...resultOf(transaction) }, about: id };
}

export function resultOf(transaction: Transaction): object {
  const { id, dsTransID, transStatus, challengeCancel, areq } = transaction;
  const isProven = transStatus === "Y" || transStatus === "A";
  const [authenticated, attempted] = transaction.number.startsWith("5") ? ["02", "01"] : ["05", "06"];
  return {
    messageVersion: areq?.messageVersion ?? "2.2.0",
    threeDSServerTransID: id,
    dsTransID,
    transStatus,
    ...(isProven && { authenticationValue: transaction.authenticationValue }),
    ...(isProven && { eci: transStatus === "Y" ? authenticated : attempted }),
    ...(transStatus === "N" && { transStatusReason: "01" }),
    ...(transStatus === "R" && { transStatusReason: "11" }),
    ...(challengeCancel && { challengeCancel }),
  };
}

function deviceCheck(directory: Directory, { body }: SandboxRequest): SandboxAnswer {
  const { threeDSServerTransID, threeDSMethodNotificationURL: url } = decoded(body, "threeDSMethodData");
  const transaction = directory.find(threeDSServerTransID);
  if (transaction?.behaviour.method !== "done") return blankPage;
  const threeDSMethodData = Buffer.from(JSON.stringify({ threeDSServerTransID })).toString("base64url");
  return postingPage(String(url), { threeDSMethodData });
}

function challenge(directory: Directory, request: SandboxRequest): SandboxAnswer {
  const { threeDSServerTransID, acsTransID } = decoded(request.body, "creq");
  const transaction = directory.find(threeDSServerTransID);
  if (transaction === undefined || transaction.acsTransID !== acsTransID) return { ...blankPage, status: 404 };
  transaction.shownAtMs ??= directory.nowMs();
  directory.save(transaction);
  return show(transaction);
}

function look(directory: Directory, { parameters }: SandboxRequest): SandboxAnswer {
  const transaction = directory.find(parameters.id);
  return transaction === undefined ? { ...blankPage, status: 404 } : show(transaction);
}

function answer(directory: Directory, { parameters, body }: SandboxRequest): SandboxAnswer {
  const transaction = directory.find(parameters.id);
  if (transaction === undefined) return { ...blankPage, status: 404 };
  const form = new URLSearchParams(body);
  if (transaction.transStatus === "C" && transaction.behaviour.answer === "challenge") {
    const isRight = form.get("code") === "123456" && !form.has("cancel");
    transaction.transStatus = isRight ? "Y" : "N";
    if (form.has("cancel")) transaction.challengeCancel = "01";
    directory.save(transaction);
  }
  return show(transaction);
}

/** Returns the bank's page during the challenge; afterwards the page that brings the result back. */
function show(transaction: Transaction): SandboxAnswer {
  const { id, behaviour, areq, transStatus, acsTransID, number } = transaction;
  if (behaviour.answer === "blank") return blankPage;
  if (transStatus === "C") {
    const currency = isoCurrencies.find((code) => currencyNumber(code) === areq?.purchaseCurrency);
    const amount = currency ? amountInWords(Number(areq?.purchaseAmount), currency) : "";
    const payment = { merchantName: String(areq?.merchantName), amount, last4: number.slice(-4) };
    return bankPage({ ...payment, action: `/acs/answer/${id}`, isApp: behaviour.answer === "app" });
  }
  if (behaviour.losesReturn) return blankPage;
  const cres = {
    messageType: "CRes",
    messageVersion: "2.2.0",
    threeDSServerTransID: id,
    acsTransID,
    challengeCompletionInd: "Y",
    transStatus,
  };
  const encoded = Buffer.from(JSON.stringify(cres)).toString("base64url");
  return postingPage(String(areq?.notificationURL), { cres: encoded });
}

function decoded(body: string, field: string): Json {
  const text = Buffer.from(new URLSearchParams(body).get(field) ?? "", "base64url");
  return parseJsonObject(text) ?? {};
}

function originOf({ headers }: SandboxRequest): string {
  return `http://${String(headers.host)}`;
}
