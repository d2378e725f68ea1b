/** A session in the form: card frame, connection and state machine, from mount or update until it is replaced. */

import type { ActionView } from "./action.ts";
import type { CardAnswer, CheckoutView, NextAction, WidgetError } from "./answers.ts";
import { emit } from "./callbacks.ts";
import type { PaymentFrame } from "./cards.ts";
import type { Checkout, CheckoutResult, CheckoutState } from "./checkout.ts";
import { browserClock } from "./clock.ts";
import type { ExpiryWatch } from "./expiry-watch.ts";
import type { Form, Message } from "./form.ts";
import { LateCheckout, serviceUnreachable } from "./late-checkout.ts";
import { inTime, type LazyParts, loadActionPart, type SessionPart } from "./lazy-parts.ts";
import type { CheckedSession, MountOptions } from "./options.ts";
import type { Texts } from "./texts.ts";
import { loadVaultSdk } from "./vault-loader.ts";
import type { WalletButtons, WalletPress } from "./wallets.ts";

/** The dependencies of one payment. */
export type PaymentParts = {
  readonly session: CheckedSession;
  readonly apiBase: string;
  readonly locale: string;
  readonly options: MountOptions;
  readonly form: Form;
  /** This promise never rejects. */
  readonly texts: Promise<Texts>;
  readonly lazyParts: LazyParts;
  /** Resolves with undefined if their part cannot be loaded: the customer pays by card. */
  readonly wallets?: Promise<WalletButtons | undefined> | undefined;
  /** The card frame of the previous session, with the customer's input; it came from the same address. */
  readonly frame?: PaymentFrame | undefined;
  /** Pays, as the pay button does. */
  readonly onPay: () => void;
  /** Starts over with the same session. */
  readonly onReopen: () => void;
};

// A customer who switches between tabs sees a status at most half a minute old.
const freshForMs = 30_000;

// A line that dropped for a moment is back at the second or third attempt. A part that was silent for longer is not
// requested again automatically: the customer has waited long enough for an error.
const frameTriesMax = 3;
const frameRetryAfterMs = 1_000;
const framesBegunWithinMs = 15_000;

const cardFormUnavailable: WidgetError = { code: "card_form_unavailable", message: "The card form cannot be loaded." };

/** A session in the form. */
export class Payment {
  readonly #parts: PaymentParts;
  readonly #closing = new AbortController();
  readonly #checkout: LateCheckout;
  #part: SessionPart | undefined;
  #expiry: ExpiryWatch | undefined;
  /** Undefined if the card form cannot be loaded. */
  readonly #frame: Promise<PaymentFrame | undefined>;
  /** Set as soon as it is on the page, ready or not. */
  #mountedFrame: PaymentFrame | undefined;
  /** True if the service accepts no card here. */
  #refused = false;
  /** The reason for which there is no card form. */
  #frameError = cardFormUnavailable;
  /** True if the card form could not be loaded, and may be the next time. */
  #isFrameLost = false;
  /** True once the session no longer takes a card and was not paid. */
  #isOver = false;
  /** The last submit; the customer can press Pay before the form is ready. */
  #submitted: Promise<CheckoutResult> | undefined;
  /** The wallet whose sheet is open, in place of the card form. */
  #wallet: WalletPress | undefined;
  /** True once the customer sees that the payment runs. */
  #hasBegun = false;
  #lastMessage = 0;
  #action: NextAction | undefined;
  /** Resolves with undefined if the part that shows actions cannot be loaded. */
  #actionView: Promise<ActionView | undefined> | undefined;
  #viewedAt = 0;
  /** Resolves when the customer can pay, or when a payment begun before a reload is being followed. */
  readonly ready: Promise<void>;

  constructor(parts: PaymentParts) {
    this.#parts = parts;
    this.#checkout = new LateCheckout({
      lazyParts: parts.lazyParts,
      closed: this.#closing.signal,
      create: (part) => this.#createCheckout(part),
      onState: (state) => this.#show(state),
      onResult: (result) => this.#emit(result),
    });
    this.#withTexts(({ loading }) => parts.form.explainWait(loading));
    this.#followVisibility();
    this.#mountedFrame = parts.frame;
    this.#frame = parts.frame ? Promise.resolve(parts.frame) : this.#openFrame();
    this.ready = this.#open();
    // A page that does not await `ready` is notified of a failure by onError.
    this.ready.catch(() => undefined);
  }

  /** True while the card is in transit or its outcome is unknown. */
  get running(): boolean {
    return this.#checkout.state !== "idle" && this.#checkout.state !== "done";
  }

  /** True once its outcome has been reported. */
  get ended(): boolean {
    return this.#checkout.state === "done";
  }

  /** True if only a fresh session, from the page's getSession, can be paid. */
  get needsFresh(): boolean {
    return this.#parts.options.getSession !== undefined && (this.#isOver || this.#refused);
  }

  submit(press?: WalletPress): Promise<CheckoutResult> {
    if (!this.running) this.#wallet = press;
    this.#submitted = this.#checkout.submit();
    return this.#submitted;
  }

  focus(): void {
    // A hidden frame must not receive the focus.
    const { cardContainer } = this.#parts.form;
    void this.ready
      .catch(() => undefined)
      .then(() => this.#frame)
      .then((frame) => cardContainer.inert || frame?.focus());
  }

  /** Shows that a fresh session is on its way, or in vain: then the customer's input stays, for another press. */
  showRenewal(error?: WidgetError): void {
    const { form } = this.#parts;
    form.setBusy(!error);
    void this.#frame.then((frame) => frame?.setDisabled(!error));
    if (!error) this.#say((texts) => ({ kind: "status", text: texts.processing }));
    else {
      if (!this.#usableFrame) this.#offerRetry();
      this.#emit({ kind: "failed", error });
    }
  }

  /** Releases the session without a further callback; a submitted payment continues at the service. */
  close(): void {
    this.#closing.abort();
    this.#mountedFrame?.destroy();
    void this.#act(undefined);
  }

  /** Releases the session as close() does, and returns its card frame, which stays in the page, if it can be used. */
  release(): PaymentFrame | undefined {
    const frame = this.#usableFrame;
    if (frame) this.#mountedFrame = undefined;
    this.close();
    return frame;
  }

  /** The card frame once the customer can use it. */
  get #usableFrame(): PaymentFrame | undefined {
    return this.#refused || this.#parts.form.cardContainer.inert ? undefined : this.#mountedFrame;
  }

  async #open(): Promise<void> {
    const looked = await this.#checkout.resume();
    if (looked.kind === "refused") this.#refuse();
    const frame = await this.#frame;
    const isUsable = looked.kind === "checkout" && (frame || looked.checkout.processing || looked.checkout.outcome);
    // An earlier submit fails for the same reason and reports it; or it finds the outcome of another window.
    const submitted = isUsable ? undefined : await this.#submitted;
    if (this.#closing.signal.aborted) return;
    const { frame: taken, options } = this.#parts;
    // A later status may have found and reported the outcome.
    if (this.ended || isUsable || submitted?.kind === "pending") {
      // The form was ready all the time if it stayed in the page.
      return taken ? undefined : emit(options.onReady);
    }
    const error = looked.kind === "refused" ? looked.error : frame ? serviceUnreachable : this.#frameError;
    if (submitted?.kind !== "failed") this.#emit({ kind: "failed", error });
    // The service would refuse a second request again, and so would the page's policy. A form that is there has the pay
    // button.
    const canRetry = ["unreachable", "card_form_unavailable", "order_being_paid"].includes(error.code);
    if ((canRetry || this.needsFresh) && !this.#usableFrame) this.#offerRetry();
    throw Object.assign(new Error(error.message), { code: error.code });
  }

  #offerRetry(): void {
    this.#withTexts(({ tryAgain }) => this.#parts.form.offerRetry(tryAgain));
  }

  /** Removes the card form where no card is accepted. */
  #refuse(): void {
    this.#refused = true;
    this.#mountedFrame?.destroy();
  }

  /** True if no frame is wanted, now or later. */
  get #isFrameless(): boolean {
    return this.#closing.signal.aborted || this.#refused;
  }

  async #openFrame(): Promise<PaymentFrame | undefined> {
    const giveUpAt = browserClock.now() + framesBegunWithinMs;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#tryFrame(tries - 1);
      } catch (error) {
        this.#mountedFrame?.destroy();
        // The error has no code if the time was over.
        const { code, message }: Partial<WidgetError> = Object(error);
        const isBlocked = code === "blocked_by_policy";
        if (isBlocked) this.#frameError = { code, message: message! };
        if (isBlocked || this.#isFrameless) return undefined;
        this.#isFrameLost = tries === frameTriesMax || browserClock.now() > giveUpAt;
        if (this.#isFrameLost) return undefined;
      }
      await browserClock.wait(tries * frameRetryAfterMs, this.#closing.signal);
    }
  }

  /** Resolves with undefined if no frame is needed; rejects if it could not be loaded. */
  async #tryFrame(failures: number): Promise<PaymentFrame | undefined> {
    const { session, locale, options, form, lazyParts } = this.#parts;
    const { sdkUrl, framePolicy } = session.vault;
    const sdk = await loadVaultSdk(sdkUrl);
    if (this.#isFrameless) return undefined;
    const frame = sdk.mountCardFrame({
      container: form.cardContainer,
      sdkUrl: sdkUrl.href,
      framePolicy,
      locale,
      appearance: form.appearance,
      fields: options.fields,
      onChange: (change) => emit(options.onChange, change),
      // A page with its own button may have conditions before it, such as terms to accept.
      onSubmitRequest: options.submitButton === false ? undefined : this.#parts.onPay,
    });
    this.#mountedFrame = frame;
    const [addCards] = await Promise.all([
      session.vault.storedCards &&
        inTime(lazyParts.loadCards(failures).then((part) => part.openStoredCards(this.#parts))),
      frame.ready,
    ]);
    const shown = addCards && !this.#isFrameless ? addCards(frame) : frame;
    this.#mountedFrame = shown;
    shown.setDisabled(this.#checkout.state !== "idle");
    return shown;
  }

  async #tokenize(): Promise<CardAnswer> {
    const frame = await this.#frame;
    if (!frame || this.#refused) return { kind: "refused", error: this.#frameError };
    if (this.#wallet) return this.#wallet(frame, this.#parts);
    try {
      const card = await frame.tokenize(this.#parts.session.vault.sdkAuthorization, this.#parts);
      return { kind: "token", ...card };
    } catch (error) {
      const { code = "card_refused", message = "The vault did not take the card." }: Partial<WidgetError> =
        Object(error);
      return { kind: "refused", error: { code, message } };
    }
  }

  /** Starts the state machine as soon as its part is there, which is before the session's expiry is known. */
  #createCheckout(part: SessionPart): Checkout {
    const { apiBase, form, locale, options, session } = this.#parts;
    const closed = this.#closing.signal;
    this.#part = part;
    form.addStyle(part.outcomeStyle);
    this.#expiry = new part.ExpiryWatch({
      clock: browserClock,
      closed,
      onSoon: () => this.#say((texts) => ({ kind: "status", tone: "notice", text: texts.expiresSoon })),
      onOver: () => this.#checkout.refresh(),
    });
    if (!this.running) this.#expiry.watch();
    return new part.Checkout({
      api: part.connectSession({ ...session, apiBase, place: form.actionPlace, locale, closed }),
      tokenize: () => this.#tokenize(),
      vaultOrigin: session.vault.sdkUrl.origin,
      clock: browserClock,
      random: Math.random,
      closed,
      onState: (state) => this.#show(state),
      onView: (view) => this.#view(view),
      onAction: (action) => void this.#act(action),
      onPending: () => {
        if (closed.aborted) return;
        this.#say((texts) => ({ kind: "status", tone: "notice", text: texts.pending }));
        emit(options.onPending);
      },
      onResult: (result) => this.#emit(result),
    });
  }

  /**
   * Loads the status when the page becomes visible: the session may have ended meanwhile, by time or in another tab.
   */
  #followVisibility(): void {
    const { onReopen } = this.#parts;
    const look = () => {
      const isStale = browserClock.now() - this.#viewedAt > freshForMs;
      if (document.visibilityState !== "visible") return;
      // The bank's app hands back to a page that has waited.
      this.#checkout.wake();
      if (this.#isFrameLost && !this.running && !this.ended) return onReopen();
      if (isStale) void this.#checkout.refresh();
    };
    document.addEventListener("visibilitychange", look, { signal: this.#closing.signal });
    addEventListener("online", look, { signal: this.#closing.signal });
  }

  /** Shows the action in the form's place, in the part that is loaded when the first one appears. */
  async #act(action: NextAction | undefined): Promise<void> {
    this.#action = action;
    if (!action && !this.#actionView) return;
    this.#actionView ??= this.#openActionView();
    const view = await this.#actionView;
    if (view) view.show(this.#action);
    else this.#actionView = undefined;
  }

  async #openActionView(): Promise<ActionView | undefined> {
    const { apiBase, form, lazyParts, options, session, texts } = this.#parts;
    const [part, known] = await Promise.all([loadActionPart(lazyParts), texts]);
    return part?.createActionView({
      place: form.actionPlace,
      texts: known.action,
      session,
      apiBase,
      returnTo: options.returnTo,
      wake: () => this.#checkout.wake(),
      onChange: (isShown) => {
        if (this.#closing.signal.aborted) return;
        form.setBusy(!isShown && this.running);
        this.#say((texts) => (isShown ? undefined : { kind: "status", text: texts.processing }));
        emit(options.onAuthentication, { state: isShown ? "shown" : "finished" });
      },
    });
  }

  #show(state: CheckoutState): void {
    const { form } = this.#parts;
    if (state === "idle") this.#expiry?.watch();
    else this.#expiry?.pause();
    form.setBusy(this.running);
    form.setFinished(state === "done");
    void this.#frame.then((frame) => frame?.setDisabled(this.#checkout.state !== "idle"));
    // Shown once, at the beginning: a later step must not replace the message that the customer need not pay again.
    if (this.running && !this.#hasBegun) this.#say((texts) => ({ kind: "status", text: texts.processing }));
    this.#hasBegun = this.running;
  }

  #view(view: CheckoutView): void {
    if (this.#closing.signal.aborted) return;
    // The frame of another vault than the session's stays hidden: it would have the card before the customer pays.
    if (view.vaultOrigin !== this.#parts.session.vault.sdkUrl.origin) this.#refuse();
    this.#viewedAt = browserClock.now();
    this.#expiry?.set(view.leftMs);
    const { form } = this.#parts;
    void this.#frame.then((frame) => {
      if (!frame || this.#isFrameless) return;
      form.showCard();
      if (view.cardBrands.length > 0) frame.accept(view.cardBrands);
      this.#parts.wallets?.then((part) => part?.show(view, frame));
    });
    const { merchantName, amount } = view;
    this.#withTexts(({ pay }) => form.setSummary({ merchantName, amount, pay: pay.replace("{amount}", () => amount) }));
  }

  #emit(result: CheckoutResult): void {
    if (this.#closing.signal.aborted) return;
    const { options } = this.#parts;
    const part = this.#part;
    this.#isOver ||= result.kind === "declined" || result.kind === "expired";
    const canRenew = this.needsFresh;
    this.#say((texts) => {
      if (part) return part.messageFor(result, texts, canRenew);
      const isCardForm = result.kind === "failed" && result.error === cardFormUnavailable;
      return { kind: "error", text: isCardForm ? texts.formUnavailable : texts.unreachable };
    });
    if (canRenew && result.kind !== "failed") this.#reopenForm();
    if (part) part.emitResult(result, options, emit);
    else if (result.kind === "failed") emit(options.onError, result.error);
  }

  /** Lets the customer correct the card, or enter another one, for a fresh session. */
  #reopenForm(): void {
    this.#parts.form.setFinished(false);
    void this.#frame.then((frame) => {
      if (this.#closing.signal.aborted) return;
      if (!frame || this.#refused) return this.#offerRetry();
      frame.setDisabled(false);
      // An external vault's form need not have it.
      frame.clearCode?.();
    });
  }

  /** Shows a message once the texts are loaded, unless a later one or the end of this session has overtaken it. */
  #say(message: (texts: Texts) => Message | undefined): void {
    const turn = ++this.#lastMessage;
    this.#withTexts((texts) => {
      if (turn === this.#lastMessage) this.#parts.form.say(message(texts));
    });
  }

  #withTexts(work: (texts: Texts) => void): void {
    void this.#parts.texts.then((texts) => {
      if (!this.#closing.signal.aborted) work(texts);
    });
  }
}
