/** A process of the service as the simulation runs it: it can be killed or stopped at every await, and restarts. */
import type { Dice } from "./dice.ts";
import type { Faults } from "./faults.ts";
import type { History } from "./history.ts";
import type { Timeline } from "./timeline.ts";

export type Stage = {
  readonly timeline: Timeline;
  readonly dice: Dice;
  readonly faults: Faults;
  readonly history: History;
};

/** The end of an await; or none yet, and then `onEnd` is called at its end. */
export type Acted<Value> =
  | { readonly type: "value"; readonly value: Value }
  | { readonly type: "error"; readonly error: unknown }
  | { readonly type: "waits"; readonly onEnd: (report: (acted: Acted<Value>) => void) => void };

type Awaited<Value> = {
  readonly what: string;
  readonly act: () => Promise<Acted<Value>>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
};

export class SimulatedProcess {
  readonly name: string;
  /** Called when it is killed, and again after every start. */
  onKill: () => Promise<void> = async () => {};
  onStart: () => void = () => {};
  /** Called with the duration when it is stopped. */
  onStop: (ms: number) => void = () => {};
  readonly #stage: Stage;
  #life = 1;
  #isRunning = true;
  #stoppedUntilMs = 0;

  constructor(name: string, stage: Stage) {
    this.name = name;
    this.#stage = stage;
  }

  get isRunning(): boolean {
    return this.#isRunning && this.#stoppedUntilMs <= this.#stage.timeline.nowMs;
  }

  /** Runs something later in this life of the process: never after its death, and not while it is stopped. */
  later(delayMs: number, run: () => Promise<void> | void): void {
    const { timeline } = this.#stage;
    const life = this.#life;
    timeline.after(delayMs, () => {
      if (life !== this.#life) return;
      const stoppedMs = this.#stoppedUntilMs - timeline.nowMs;
      return stoppedMs > 0 ? this.later(stoppedMs, run) : run();
    });
  }

  /** Runs one await of the code under test. Once the process is dead its promise never settles. */
  step<Value>(what: string, act: () => Promise<Acted<Value>>): Promise<Value> {
    const { faults, timeline } = this.#stage;
    return new Promise((resolve, reject) => {
      this.later(faults.latencyMs(timeline.nowMs), () => this.#begin({ what, act, resolve, reject }));
    });
  }

  /** Waits for something outside, such as an answer; `register` receives the function to call when it arrives. */
  wait<Value>(register: (arrive: (value: Value) => void) => void): Promise<Value> {
    return new Promise((resolve) => {
      const life = this.#life;
      register((value) => {
        if (life === this.#life) this.later(0, () => resolve(value));
      });
    });
  }

  async #begin<Value>(awaited: Awaited<Value>): Promise<void> {
    if (this.#strikes("kill")) return this.kill(`before ${awaited.what}`);
    if (this.#strikes("stop")) {
      this.#stop(`before ${awaited.what}`);
      return this.later(0, () => this.#act(awaited));
    }
    return this.#act(awaited);
  }

  async #act<Value>(awaited: Awaited<Value>): Promise<void> {
    this.note(() => awaited.what);
    const acted = await awaited.act();
    if (acted.type !== "waits") return this.#end(awaited, acted);
    this.note(() => `${awaited.what}: waits for a lock`);
    acted.onEnd((ended) => this.later(0, () => this.#end(awaited, ended)));
  }

  async #end<Value>(awaited: Awaited<Value>, acted: Acted<Value>): Promise<void> {
    if (this.#strikes("kill")) return this.kill(`after ${awaited.what}`);
    if (this.#strikes("stop")) {
      this.#stop(`after ${awaited.what}`);
      return this.later(0, () => settle(awaited, acted));
    }
    settle(awaited, acted);
  }

  #strikes(kind: "kill" | "stop"): boolean {
    return this.#stage.faults.strikes(kind, this.#stage.timeline.nowMs);
  }

  #stop(when: string): void {
    const ms = this.#stage.faults.stopMs();
    this.#stoppedUntilMs = this.#stage.timeline.nowMs + ms;
    this.note(() => `STOPPED for ${(ms / 1000).toFixed(1)} s ${when}`);
    this.onStop(ms);
  }

  /** Kills the process: all of its work is lost. It restarts a while later. */
  async kill(when: string): Promise<void> {
    const ms = this.#stage.faults.restartMs();
    this.note(() => `KILLED ${when}; starts again in ${(ms / 1000).toFixed(1)} s`);
    this.#life++;
    this.#isRunning = false;
    this.#stoppedUntilMs = 0;
    await this.onKill();
    this.later(ms, () => {
      this.#isRunning = true;
      this.note(() => "started");
      this.onStart();
    });
  }

  note(what: () => string): void {
    this.#stage.history.add(this.#stage.timeline.nowMs, this.name, what);
  }
}

function settle<Value>({ resolve, reject }: Awaited<Value>, acted: Acted<Value>): void {
  if (acted.type === "value") resolve(acted.value);
  else if (acted.type === "error") reject(acted.error);
}
