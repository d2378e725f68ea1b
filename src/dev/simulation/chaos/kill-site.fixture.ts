/** A demo whose processes are killed by SIGKILL while the sandbox holds a request to a gateway, or its answer. */
import { Client } from "pg";
import { expect } from "vitest";
import { createDashboardClient } from "../../../client/dashboard-client.ts";
import { Secret } from "../../../platform/secrets.ts";
import { startTestDemo } from "../../e2e/demo.fixture.ts";
import { connectFiveGateways } from "../../e2e/five-gateways.fixture.ts";
import { moveClock } from "./site-database.ts";
import { Tally } from "./tally.ts";

/**
 * Places of the request when its process dies: executed, and its answer on the way; on the way itself, and executed before its
 * repeat arrives; or on the way, and executed at the same moment as its repeat.
 */
const points = ["answer", "request", "overtaken"] as const;
export const roles = ["edge", "worker"] as const;
export type Role = (typeof roles)[number];

type Post = (url: string, bearer: string, body: object) => Promise<Readonly<Record<string, unknown>>>;
type Kill = {
  /** Of the sandbox, each by both roles. */
  readonly operations: readonly string[];
  readonly turn: number;
  /** The kind of request, for the tally. */
  readonly what?: string;
  readonly pastLeaseMs: number;
  readonly withinMs: number;
  readonly send: (role: Role) => Promise<void>;
};

export async function openKillSite() {
  const demo = await startTestDemo();
  const ownerUrl = Object.assign(new URL(demo.postgresUrl), { pathname: "switchyard_test" }).href;
  const owner = new Client({ connectionString: ownerUrl });
  await owner.connect();
  const operator = createDashboardClient(demo.file.grpcAddress, new Secret(demo.file.operatorToken));
  const tally = new Tally();
  let aheadMs = 0;
  let orders = 0;
  /** Moves the database's clock; `before` gets what it will be ahead. */
  const pass = async (ms: number, before?: (aheadMs: number) => Promise<unknown>) => {
    aheadMs += ms;
    await before?.(aheadMs);
    await moveClock(ownerUrl, aheadMs);
  };
  return {
    ...{ demo, owner, operator, tally, pass },
    routeTo: await connectFiveGateways(demo),
    /** Pays by a card, and returns the session's id. */
    async pay(post: Post, number: string, fields: object = {}): Promise<string> {
      const { restBase, connectOrigin, merchants } = demo.file;
      const order = { amountMinor: 4_900, currency: "EUR", orderRef: `order-${++orders}`, ...fields };
      const created = await post(`${restBase}/payment-sessions`, merchants[0]!.test.secretKey, order);
      type Opened = { sessionId: string; clientSecret: string; vault: { sdkUrl: string; sdkAuthorization: string } };
      const { sessionId, clientSecret, vault } = created as unknown as Opened;
      const card = { number, expMonth: 4, expYear: new Date().getUTCFullYear() + 3, cvc: "123" };
      const tokenized = await post(`${new URL(vault.sdkUrl).origin}/tokens`, vault.sdkAuthorization, card);
      const submission = { sessionId, vaultToken: tokenized.token };
      await post(`${connectOrigin}/payments.v1.CheckoutService/SubmitPayment`, clientSecret, submission);
      return sessionId;
    },
    /** Kills the edge and the worker, each with requests of its own at the gateway, and starts them again. */
    async killInTheMiddle({ operations, turn, what, pastLeaseMs, withinMs, send }: Kill): Promise<void> {
      const point = points[turn % points.length]!;
      const held = operations.map((operation) => `${operation}${point === "answer" ? "" : ".arrival"}`);
      const arePaused = (count: number) =>
        Promise.all(
          held.map((operation) =>
            expect.poll(() => demo.sandbox.paused({ operation }), { timeout: withinMs, interval: 100 }).toBe(count),
          ),
        );
      const release = () => Promise.all(held.map((operation) => demo.sandbox.release({ operation })));
      for (const operation of held) await demo.sandbox.hold(operation);
      await Promise.all(roles.map(send));
      await arePaused(roles.length);
      for (const role of roles) {
        process.kill(demo.file.pids[role]!, "SIGKILL");
        tally.add([`SIGKILL ${role}`, what, `${point} held`].filter(Boolean).join(", "));
      }
      if (point !== "overtaken") await release();
      await pass(pastLeaseMs);
      await Promise.all(roles.map((role) => demo.restart(role)));
      if (point === "overtaken") {
        await arePaused(2 * roles.length);
        await release();
      }
    },
    async close(): Promise<void> {
      operator.close();
      await owner.end();
      await demo.close();
      const counted = tally.under("").map(([name, count]) => `${name}: ${count}`);
      console.info(counted.join("\n"));
    },
  };
}
