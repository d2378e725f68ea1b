/** The promises of every connector whose gateway may ask for the customer, with a customer at the sandbox bank. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type {
  Action,
  ActionNeeded,
  AuthenticationResult,
  AuthenticationWish,
} from "../../../gateways/authentication.ts";
import type {
  AuthorizeAnswer,
  AuthorizeRequest,
  CompletionAnswer,
  GatewayOutcome,
} from "../../../gateways/connector.ts";
import type { CardBehaviour } from "../../../gateways/sandbox/card-behaviour.ts";
import { Secret } from "../../../platform/secrets.ts";
import { answerAtBank } from "../bank-customer.ts";
import { brokenAnswers, otherMoney } from "../broken-answers.ts";
import { emulatorAccounts } from "../emulator-accounts.ts";
import { approvedCard, type GatewayHarness, notificationPath } from "../gateway-harness.ts";
import { forgedTexts, refusedReturns, returnWith } from "./forged-returns.conformance.ts";

export type AuthenticationSubject = {
  /** The code of its decline if the customer cannot be challenged, and that of a bank that wants authentication. */
  readonly codes: { readonly unasked: string; readonly soft: string };
  /** The values that it reports beside the results authenticated and attempted. */
  readonly reported: Readonly<Record<"Y" | "A", AuthenticationResult>>;
  /** The requests, as `METHOD /path`, that it may answer with an action. */
  readonly asks: RegExp;
  /** The requests of one payment without a challenge. */
  readonly requests: number;
  /** Changes an answer with an action into one that no connector shows; returns any other answer as it is. */
  readonly otherShape: (body: string) => string;
};

type CustomerAnswer = "pass" | "fail" | "cancel";
type Asked = {
  readonly payment: AuthorizeRequest;
  readonly action: Action;
  readonly outcome: ActionNeeded;
};

const number = "4000000000000077";
const approve: CardBehaviour = { act: "approve" };
const returnUrl = "https://pay.example/authentication/test/return/att_1";
const browser = {
  javaEnabled: false,
  colorDepth: 24,
  screenWidth: 1_280,
  screenHeight: 800,
  timeZoneOffsetMinutes: -60,
  language: "de-AT",
  acceptHeader: "text/html",
};
const asking = (wish: AuthenticationWish["wish"]) => ({
  authentication: { wish, browser, returnUrl },
  shopperUserAgent: "Mozilla/5.0 (X11; Linux x86_64)",
});

/** Declares the tests that every connector passes whose gateway runs authentication. */
export function describeAuthentication(harness: () => GatewayHarness, subject: AuthenticationSubject): void {
  describe("and asks for the customer only as permitted", () => {
    const customer = new Customer(harness, subject);
    beforeEach(() => customer.begin());
    afterEach(() => customer.end());
    describeAsking(customer);
    describeFrictionless(customer);
    describeNotShown(customer);
    describeCompleting(customer);
    describeForgedReturns(customer);
    describeGivingUp(customer);
  });
}

/** A payment whose card makes its bank ask, the customer at the bank, and the connector's steps around that. */
class Customer {
  readonly #harness: () => GatewayHarness;
  readonly subject: AuthenticationSubject;
  /** True if the last return says that the customer gave up. */
  hasGivenUp = false;

  constructor(harness: () => GatewayHarness, subject: AuthenticationSubject) {
    this.#harness = harness;
    this.subject = subject;
  }

  get harness(): GatewayHarness {
    return this.#harness();
  }

  get authenticator() {
    const { authentication } = this.harness.connector;
    if (authentication === undefined) throw new Error("the connector runs no authentication");
    return authentication;
  }

  get #acquirer() {
    return emulatorAccounts[this.harness.connector.gateway].acquirer;
  }

  async begin(): Promise<void> {
    await this.setCard({ act: "authenticate", when: "as_needed", code: this.subject.codes.unasked, passed: approve });
    this.harness.forwarder.useCard(number);
  }

  end(): void {
    this.harness.forwarder.useCard(approvedCard);
    this.harness.replaceWith(() => undefined);
    this.harness.spoilWith((honest) => honest);
  }

  setCard(behaviour: CardBehaviour): Promise<void> {
    return this.harness.sandbox.setCard(this.#acquirer, number, behaviour);
  }

  async authorize(payment: AuthorizeRequest): Promise<GatewayOutcome> {
    return (await this.answerTo(payment)).outcome;
  }

  answerTo(payment: AuthorizeRequest): Promise<AuthorizeAnswer> {
    return this.harness.connector.authorize(this.harness.call(payment.attemptReference), payment);
  }

  async ask(payment = this.harness.newPayment(asking("as_needed"))): Promise<Asked> {
    const outcome = await this.authorize(payment);
    if (outcome.type !== "actionNeeded") throw new Error(`expected an action, got ${JSON.stringify(outcome)}`);
    return { payment, action: outcome.action, outcome };
  }

  async answer({ action }: Pick<Asked, "action">, answer: CustomerAnswer): Promise<string | undefined> {
    const { searchParams } = (await answerAtBank(action.url, answer))!;
    this.hasGivenUp = this.authenticator.isCancelled?.(searchParams) ?? false;
    return this.authenticator.readReturn(searchParams);
  }

  attempt({ payment, outcome }: Pick<Asked, "payment" | "outcome">) {
    const { attemptReference, amountMinor, currency } = payment;
    return { attemptReference, amountMinor, currency, gatewayReference: outcome.gatewayReference };
  }

  complete(asked: Asked, returned: string | undefined): Promise<CompletionAnswer> {
    const call = this.harness.call(`${asked.payment.attemptReference}_2${returned ? `_${returned.slice(0, 40)}` : ""}`);
    const completion = {
      keep: asked.outcome.keep,
      returned: returned === undefined ? undefined : new Secret(returned),
    };
    return this.authenticator.complete(call, this.attempt(asked), completion);
  }

  async look(asked: Asked, returned?: Secret): Promise<string | undefined> {
    const answer = await this.authenticator.askAction?.(this.harness.call(""), this.attempt(asked), { returned });
    return answer === undefined || answer.type !== "declined" ? answer?.type : answer.stop;
  }

  sent(): number {
    return this.harness.middle.requests.filter(({ path }) => path !== notificationPath).length;
  }

  void(asked: Pick<Asked, "payment" | "outcome">, key: string) {
    const call = this.harness.call(`${asked.payment.attemptReference}_${key}`);
    return this.harness.connector.void(call, this.attempt(asked));
  }

  async statuses({ attemptReference }: AuthorizeRequest): Promise<string[]> {
    const found = await this.harness.sandbox.authorizations(attemptReference);
    return found.map(({ status }) => status).filter((status) => status !== "declined");
  }

  /** Returns what `act` returns while requests that an action may answer get this answer. */
  async answering<Result>(
    answer: Awaited<ReturnType<Customer["actionAnswer"]>>["answer"],
    act: () => Promise<Result>,
  ): Promise<Result> {
    this.harness.replaceWith(({ method, path }) => (this.subject.asks.test(`${method} ${path}`) ? answer : undefined));
    const result = await act();
    this.harness.replaceWith(() => undefined);
    return result;
  }

  /** Returns the answer by which the gateway challenges a payment's customer, as it was sent. */
  async actionAnswer() {
    let answer: { status: number; headers: Readonly<Record<string, string>>; body: string } | undefined;
    this.harness.spoilWith((honest) => {
      if (this.subject.otherShape(honest.body) !== honest.body) answer ??= honest;
      return honest;
    });
    const asked = await this.ask();
    this.harness.spoilWith((honest) => honest);
    if (answer === undefined) throw new Error("the action was in no answer");
    return { asked, answer };
  }
}

function describeAsking(customer: Customer): void {
  it("holds once the customer has passed and the payment is completed", async () => {
    const asked = await customer.ask();
    expect(asked.action).toMatchObject({ method: "GET", url: expect.stringMatching(/^http/) });
    expect([undefined, "waiting"]).toContain(await customer.look(asked));
    const returned = await customer.answer(asked, "pass");
    expect([undefined, "answered"]).toContain(await customer.look(asked));
    if (customer.authenticator.holdsOnlyWhenAsked) expect(await customer.statuses(asked.payment)).toEqual([]);
    const { outcome, authenticated } = await customer.complete(asked, returned);
    expect(outcome).toMatchObject({ type: "held" });
    expect(await customer.statuses(asked.payment)).toEqual(["held"]);
    expect(authenticated).toMatchObject({ transStatus: "Y", ...customer.subject.reported.Y });
    expect(JSON.stringify(authenticated)).not.toMatch(/cavv|cryptogram|authenticationValue/i);
  });

  it.each(["fail", "cancel"] as const)(
    "is declined as unauthenticated when the customer's answer is to %s",
    async (answer) => {
      const asked = await customer.ask();
      const returned = await customer.answer(asked, answer);
      const seen = await customer.look(asked);
      expect(customer.hasGivenUp).toBe(answer === "cancel" && customer.authenticator.isCancelled !== undefined);
      if (customer.hasGivenUp) {
        expect(seen).toBe("waiting");
        expect(customer.authenticator.holdsOnlyWhenAsked).toBe(true);
      } else if (seen === undefined) {
        const { outcome } = await customer.complete(asked, returned);
        expect(outcome).toMatchObject({ type: "declined", stop: "authentication_failed" });
      } else {
        expect(["failed", "authentication_failed"]).toContain(seen);
      }
      expect(await customer.statuses(asked.payment)).toEqual([]);
    },
  );

  it("is declined at once where the customer cannot be asked, and holds nothing", async () => {
    const payment = customer.harness.newPayment();
    expect(await customer.authorize(payment)).toMatchObject({ type: "declined", stop: "authentication_required" });
    expect(await customer.statuses(payment)).toEqual([]);
  });

  it("asks where the bank wants it, once it is told to", async () => {
    await customer.setCard({
      act: "authenticate",
      when: "if_asked",
      code: customer.subject.codes.soft,
      passed: approve,
    });
    const first = await customer.authorize(customer.harness.newPayment(asking("as_needed")));
    expect(first).toMatchObject({ type: "declined", stop: "authentication_required" });
    await customer.ask(customer.harness.newPayment(asking("always")));
  });

  it("sends no more requests for a payment whose customer is not asked", async () => {
    customer.harness.forwarder.useCard(approvedCard);
    for (const permission of [{}, asking("as_needed")]) {
      const before = customer.sent();
      expect(await customer.authorize(customer.harness.newPayment(permission))).toMatchObject({ type: "held" });
      expect(customer.sent() - before).toBe(customer.subject.requests);
    }
  });
}

function describeFrictionless(customer: Customer): void {
  const permitted = () => customer.harness.newPayment(asking("as_needed"));

  it.each(["Y", "A"] as const)(
    "reports the result %s of an authentication without the customer",
    async (frictionless) => {
      await customer.setCard({ act: "approve", frictionless });
      const { outcome, authenticated } = await customer.answerTo(permitted());
      expect(outcome.type).toBe("held");
      expect(authenticated).toMatchObject({ transStatus: frictionless, ...customer.subject.reported[frictionless] });
      expect(JSON.stringify(authenticated)).not.toMatch(/cavv|cryptogram|authenticationValue/i);
    },
  );

  it("reports the result also with a decline", async () => {
    await customer.setCard({ act: "decline", code: customer.subject.codes.soft, frictionless: "N" });
    const { outcome, authenticated } = await customer.answerTo(permitted());
    expect(outcome.type).toBe("declined");
    expect(authenticated).toMatchObject({ transStatus: "N" });
  });

  it("reports none where there was none", async () => {
    await customer.setCard({ act: "approve", frictionless: "Y" });
    expect((await customer.answerTo(customer.harness.newPayment())).authenticated).toBeUndefined();
    await customer.setCard(approve);
    expect((await customer.answerTo(permitted())).authenticated).toBeUndefined();
  });
}

function describeNotShown(customer: Customer): void {
  /** Expects that an action is not shown, and that the gateway holds nothing once the flow has given the payment up. */
  const expectGone = async (asked: Asked, outcome: CompletionAnswer["outcome"]): Promise<void> => {
    // An action without an answer waits for the same customer, and ends as any wait does.
    const isWaiting = outcome.type === "notAnswered";
    if (isWaiting) expect(customer.authenticator.askAction).toBeUndefined();
    else expect(["declined", "unknown"]).toContain(outcome.type);
    if (outcome.type === "declined") expect(customer.authenticator.holdsOnlyWhenAsked).toBe(true);
    await customer.answer(asked, "pass");
    if (isWaiting || outcome.type === "unknown") await customer.void(asked, "void");
    await expect.poll(() => customer.statuses(asked.payment)).not.toContain("held");
    if (customer.harness.connector.refusesVoidedReference) {
      expect((await customer.complete(asked, undefined)).outcome.type).not.toBe("held");
      expect(await customer.statuses(asked.payment)).not.toContain("held");
    }
  };

  it("does not show an action of another shape", async () => {
    const { asked, answer } = await customer.actionAnswer();
    const other = { ...answer, body: customer.subject.otherShape(answer.body) };
    await expectGone(asked, await customer.answering(other, () => customer.authorize(asked.payment)));
  });

  it("does not show an action that was not permitted", async () => {
    const { asked, answer } = await customer.actionAnswer();
    const { authentication: _, ...payment } = asked.payment;
    await expectGone(asked, await customer.answering(answer, () => customer.authorize(payment)));
  });

  it("does not show a second action", async () => {
    const { asked, answer } = await customer.actionAnswer();
    const returned = await customer.answer(asked, "pass");
    const { outcome } = await customer.answering(answer, () => customer.complete(asked, returned));
    await expectGone(asked, outcome);
  });
}

function describeCompleting(customer: Customer): void {
  /** Makes a payment whose customer has passed. */
  const pass = async () => {
    const asked = await customer.ask();
    return { asked, returned: await customer.answer(asked, "pass") };
  };
  const loseAnswers = (count: number) => {
    let left = count;
    customer.harness.spoilWith((honest) => (left-- > 0 ? "reset" : honest));
  };

  it("holds once when the first answer to completing is lost", async () => {
    const { asked, returned } = await pass();
    loseAnswers(1);
    expect((await customer.complete(asked, returned)).outcome).toMatchObject({ type: "unknown" });
    expect((await customer.complete(asked, returned)).outcome).toMatchObject({ type: "held" });
    expect(await customer.statuses(asked.payment)).toEqual(["held"]);
  });

  it("leaves a hold that is voided when both answers to completing are lost", async () => {
    const { asked, returned } = await pass();
    loseAnswers(2);
    for (let sent = 0; sent < 2; sent++) {
      expect((await customer.complete(asked, returned)).outcome).toMatchObject({ type: "unknown" });
    }
    expect(await customer.statuses(asked.payment)).toEqual(["held"]);
    await customer.void(asked, "void");
    await expect.poll(() => customer.statuses(asked.payment)).toEqual(["voided"]);
  });

  it("is not believed when its answer to completing is spoilt", async () => {
    const { asked, returned } = await pass();
    for (const [name, spoil] of Object.entries({ ...brokenAnswers, ...otherMoney })) {
      customer.harness.spoilWith(spoil);
      const { outcome } = await customer.complete(asked, returned);
      // A text of the customer's may have caused such answers.
      const isCaused = /another reference|saying 40[124]/.test(name) && customer.authenticator.askAction === undefined;
      expect(outcome, name).toMatchObject({ type: isCaused ? "notAnswered" : "unknown" });
    }
  });

  it("does not go on by a look whose answer is spoilt", async () => {
    const { asked } = await pass();
    for (const name of [
      "a connection that is reset",
      "half an answer",
      "an HTML page",
      "an honest body under status 500",
    ]) {
      customer.harness.spoilWith(brokenAnswers[name]!);
      expect([undefined, "inconclusive"], name).toContain(await customer.look(asked));
    }
  });

  it("takes nothing from a return without its field", async () => {
    const { asked, returned } = await pass();
    for (const query of ["", "result=passed", "redirectresult=x"]) {
      expect(customer.authenticator.readReturn(new URLSearchParams(query))).toBeUndefined();
    }
    if (returned === undefined) return;
    expect((await customer.complete(asked, undefined)).outcome).toEqual({ type: "notAnswered" });
  });
}

// Anybody who knows the address of a return opens it. What it brings never decides where the money goes.
function describeForgedReturns(customer: Customer): void {
  /** Opens a return during the challenge. Returns what the payment does then. */
  const open = async (asked: Asked, fields: URLSearchParams): Promise<string | undefined> => {
    const returned = customer.authenticator.readReturn(fields);
    if (customer.authenticator.askAction)
      return customer.look(asked, returned === undefined ? undefined : new Secret(returned));
    if (returned === undefined) return "waiting";
    const { outcome } = await customer.complete(asked, returned);
    return outcome.type === "notAnswered" ? "waiting" : outcome.type;
  };

  it("keeps waiting when a return is made up or another payment's, and takes the customer's own afterwards", async () => {
    const asked = await customer.ask();
    const other = await customer.ask();
    const theirs = await customer.answer(other, "pass");
    const known = [theirs, other.payment.attemptReference, asked.payment.attemptReference];
    for (const text of [...Object.values(forgedTexts), ...known]) {
      expect(await open(asked, returnWith(text ?? "")), text?.slice(0, 40)).toBe("waiting");
    }
    expect(await customer.statuses(asked.payment)).toEqual([]);
    const own = await customer.answer(asked, "pass");
    expect((await customer.complete(asked, own)).outcome).toMatchObject({ type: "held" });
    expect(await customer.statuses(asked.payment)).toEqual(["held"]);
  });

  it("keeps waiting when the customer knows the text of the return before the answer", async () => {
    const asked = await customer.ask();
    const early = /auth_[\w-]+/.exec(asked.action.url)?.[0];
    expect(await open(asked, returnWith(early ?? ""))).toBe("waiting");
    expect(await customer.statuses(asked.payment)).toEqual([]);
  });

  it("keeps waiting when a firewall or the gateway refuses what a return brought", async () => {
    const asked = await customer.ask();
    for (const [name, refusal] of Object.entries(refusedReturns)) {
      customer.harness.spoilWith(() => refusal);
      expect(["waiting", "inconclusive"], name).toContain(await open(asked, returnWith("../../etc/passwd")));
    }
    customer.harness.spoilWith((honest) => honest);
    const own = await customer.answer(asked, "pass");
    expect((await customer.complete(asked, own)).outcome).toMatchObject({ type: "held" });
  });

  it("holds for no return that follows a customer who failed", async () => {
    const asked = await customer.ask();
    const other = await customer.ask();
    const theirs = await customer.answer(other, "pass");
    await customer.answer(asked, "fail");
    const ends = ["waiting", "failed", "authentication_failed", "declined"];
    expect(ends).toContain(await open(asked, returnWith(theirs ?? "made-up")));
    expect(await customer.statuses(asked.payment)).toEqual([]);
  });
}

function describeGivingUp(customer: Customer): void {
  it("leaves no hold when the customer finishes after the payment was given up", async () => {
    const asked = await customer.ask();
    await customer.void(asked, "void1");
    await customer.answer(asked, "pass");
    if (customer.authenticator.holdsOnlyWhenAsked) {
      expect(await customer.statuses(asked.payment)).toEqual([]);
      return;
    }
    expect(await customer.statuses(asked.payment)).toEqual(["held"]);
    expect(customer.authenticator.actionLifeMs).toBeGreaterThan(0);
    await customer.void(asked, "void2");
    await expect.poll(() => customer.statuses(asked.payment)).toEqual(["voided"]);
  });
}
