/** Checkouts at the emulator of the service, for the tests of their state machine. */
import { afterEach, beforeEach } from "vitest";
import { CheckoutEmulator, emulatorClientSecret, emulatorSession } from "../src/dev/testing/checkout-emulator.ts";
import { Checkout, type CheckoutParts, type CheckoutResult } from "./checkout.ts";
import { connectSession } from "./session-api.ts";

const vaultOrigin = "https://vault.example";

/** The emulator of one test after the other, and the results that their checkouts reported. */
export class CheckoutFixture {
  service!: CheckoutEmulator;
  closing!: AbortController;
  results: (CheckoutResult | "onPending")[] = [];

  constructor() {
    beforeEach(async () => {
      this.service = await CheckoutEmulator.start({ vaultOrigin });
      this.closing = new AbortController();
      this.results = [];
    });
    afterEach(async () => {
      this.closing.abort();
      await this.service.close();
    });
  }

  open(parts: Pick<CheckoutParts, "clock"> & Partial<CheckoutParts>, clientSecret = emulatorClientSecret): Checkout {
    const closed = this.closing.signal;
    const access = { sessionId: emulatorSession, clientSecret, locale: "en", closed };
    const page = { place: { clientWidth: 320 }, vault: { publishableKey: "pk" } };
    return new Checkout({
      api: connectSession({ apiBase: this.service.origin, ...page, ...access }),
      tokenize: async () => ({ kind: "token", token: "tok_1" }),
      vaultOrigin,
      // The middle of the jitter: pauses are exactly 1000, 1500, 2250, 3375 and then 5000 ms.
      random: () => 0.5,
      closed,
      onState: () => undefined,
      onView: () => undefined,
      onAction: () => undefined,
      onPending: () => this.results.push("onPending"),
      onResult: (result) => this.results.push(result),
      ...parts,
    });
  }
}
