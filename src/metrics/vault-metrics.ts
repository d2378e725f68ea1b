/**
 * The vault as metrics: cards tokenized, requests that carried one, and the number of cards kept. Never anything of a
 * card.
 */
import { closedLabel, type MetricMaker } from "./metric-maker.ts";

// As for gateways: the vault waits for them.
const bucketsSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 14];

const shownEnvironment = closedLabel(["test", "live"]);
const results = [...["2xx", "3xx", "4xx", "5xx"], ...["never_sent", "timed_out", "no_answer", "no_card", "refused"]];
const shownResult = closedLabel(results);

/** Registers the metrics; returns the observer of the vault's events, and shows the number of cards kept. */
export function createVaultMetrics({ counter, histogram, gauge }: MetricMaker) {
  const tokenized = counter("cards_tokenized_total", "Cards that were tokenized.", "environment");
  const forwarded = counter(
    "vault_forwards_total",
    "Requests with a card by result: the gateway's status, or the reason why there is none.",
    "environment",
    "result",
  );
  const duration = histogram(
    "vault_forward_duration_seconds",
    "Duration of a request with a card in the vault, including the gateway's response.",
    bucketsSeconds,
    "environment",
  );
  const held = gauge(
    "vault_cards_held",
    "Cards in the vault, each for at most fifteen minutes; 10000 stands for more.",
    "environment",
  );
  return {
    begin(environments: readonly string[]): void {
      for (const environment of environments) {
        tokenized.inc({ environment }, 0);
        for (const result of results) forwarded.inc({ environment, result }, 0);
      }
    },
    tokenized: (environment: string) => tokenized.inc({ environment: shownEnvironment(environment) }),
    forwarded(environment: string, result: string, durationMs: number): void {
      const shown = shownEnvironment(environment);
      forwarded.inc({ environment: shown, result: shownResult(result) });
      duration.observe({ environment: shown }, durationMs / 1_000);
    },
    setHeld: (environment: string, cards: number) => held.set({ environment: shownEnvironment(environment) }, cards),
    forgetHeld: () => held.reset(),
  };
}
