/** The times within which the answers to a run's requests are lost: from the first request of a kind on. */
import type { Sent } from "./gateway-world.ts";

export class Unheard {
  readonly #lastsMs: Partial<Record<Sent["type"], number | undefined>>;
  readonly #untilMs = new Map<Sent["type"], number>();

  constructor(lastsMs: Partial<Record<Sent["type"], number | undefined>>) {
    this.#lastsMs = lastsMs;
  }

  onSent({ type }: Sent, nowMs: number): void {
    const lastsMs = this.#lastsMs[type];
    if (lastsMs !== undefined && !this.#untilMs.has(type)) this.#untilMs.set(type, nowMs + lastsMs);
  }

  isOf({ type }: Sent, nowMs: number): boolean {
    return nowMs < (this.#untilMs.get(type) ?? 0);
  }
}
