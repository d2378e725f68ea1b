import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import {
  connectWithService,
  ended,
  newSession,
  openedSecond,
  setAttempt,
  setSession,
  submitted,
  succeeded,
} from "./payment-rows.fixture.ts";

const { owner, service } = await connectWithService();
// The service calls functions; the owner stores the rows with which a test begins.
const client = {
  query: (sql: string) =>
    (/\bapp\.(claim|held|captured|create_session|failed)\(/.test(sql) ? service : owner).query(sql),
};
type Run = Awaited<ReturnType<typeof submitted>>;

const hash = `sha256('t')`;
const claiming = (attempt = "$attempt", connection: string = v7()) =>
  `SELECT id, decline_code AS reason FROM app.claim($session, 20000, 45000, 't', ${hash}, 1, '[]', '[]', NULL, NULL, NULL, ${attempt}, 'SANDBOX_A', '${connection}', 1, 1, 'why', 60000, NULL, NULL, true, false, 10, 5, NULL, 30, NULL)`;
const held = ({ epoch = 1, reference = `'${v7()}'`, last4 = "'4242'", attempt = "$attempt", readAt = "now()" } = {}) =>
  `SELECT recorded_at AS at, is_news FROM app.held($session, ${epoch}, ${attempt}, ${readAt}, ${reference}, NULL, 20000, 10000, 'visa', ${last4})`;
const captured = ({ epoch = 1, via = "SANDBOX_A", attempt = "$attempt", readAt = "now()" } = {}) =>
  `SELECT ended_at AS at FROM app.captured($session, ${epoch}, ${attempt}, ${readAt}, 'att_1', '${via}', true, false, NULL, NULL, 20000, 10000, gen_random_uuid(), 'evt_1',
    '{"timestamp":"evt_1:time","sequence":"evt_1:sequence","settledAt":"evt_1:settled"}', 10000)`;

const next = v7();
const failed = ({
  epoch = 1,
  attempt = "$attempt",
  as = "DECLINED",
  kind = "SOFT_DECLINE",
  refused = "NULL",
  because = "'why'",
  last4 = "NULL",
  to = next,
  readAt = "now()",
} = {}) => `SELECT app.failed($session, ${epoch}, ${attempt}, ${readAt}, '${as}', ${kind === null ? "NULL" : `'${kind}'`}, 'card_declined', '05', ${refused}, ${because}, NULL, ${last4},
    20000, 10000, 1000, '${v7()}', 'SANDBOX_B', '${to}', 1, 2, 'then', 60000) AS at`;

/** A session whose first attempt is at its gateway. The plan has one more. */
async function authorizing(): Promise<Run> {
  const run = await submitted(client, "AUTHORIZING");
  await run(setSession(`plan = '[{"connectionId":"${v7()}"},{"connectionId":"${next}"}]'`));
  return run;
}

const creating = (change: Record<string, string> = {}) => {
  const given = {
    id: "$session",
    merchant: `'${v7()}'`,
    amount: "4900",
    currency: "'EUR'",
    reference: "'o'",
    email: "NULL",
    secret: "1",
    life: "3600000",
    request: "NULL",
    details: "NULL",
    later: "false",
    by: "NULL",
    repeated: "false",
    customer: "NULL",
    storing: "NULL",
    key: "NULL",
    hash: "NULL",
    answer: "NULL",
    keyLife: "86400000",
    ...change,
  };
  return `SELECT id, phase, status FROM app.create_session(${Object.values(given).join(", ")})`;
};

/** An idle session, and a way to change it. */
async function idle(isRepeated = false): Promise<Run> {
  const [session, attempt] = [v7(), v7()];
  const run: Run = (sql) =>
    client.query(sql.replaceAll("$session", `'${session}'`).replaceAll("$attempt", `'${attempt}'`));
  await run(newSession({ id: "$session", allow_repeated_order: String(isRepeated) }));
  return run;
}

const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "it was done",
    (error: Error & { code?: string }) => `${error.code} ${error.message}`,
  );

type Asked = { readonly refuses?: boolean; readonly repeated?: boolean; readonly isTaken?: boolean };
const notClaimed = { id: null, reason: "the session cannot be claimed" };

describe("app.claim()", () => {
  it("claims a session with its first attempt, once", async () => {
    const run = await idle();
    await run(claiming());
    const { rows } = await run(
      "SELECT s.phase, s.lease_epoch AS epoch, a.status, a.amount_minor::int AS amount FROM payment_session s JOIN attempt a ON a.session_id = s.id WHERE s.id = $session",
    );
    expect(rows).toEqual([{ phase: "PROCESSING", epoch: 1, status: "AUTHORIZING", amount: 4900 }]);
    expect((await run(claiming(`'${v7()}'`))).rows).toEqual([notClaimed]);
  });

  it("claims nothing that has expired", async () => {
    const run = await idle();
    await run(setSession("expires_at = created_at + interval '1 ms'"));
    expect((await run(claiming())).rows).toEqual([notClaimed]);
  });

  it.each([
    ["as the page was allowed", "'pk https://shop.example'", {}, []],
    ["with an order that may be repeated", "'pk https://shop.example'", { refuses: true, repeated: true }, []],
    ["of an order that no other session has", "'pk https://shop.example'", { refuses: true }, []],
    [
      "of an order that another session has by now",
      "'pk https://shop.example'",
      { refuses: true, isTaken: true },
      ["the settings have changed"],
    ],
    ["with another key", "'old https://shop.example'", {}, ["the settings have changed"]],
    ["with another origin", "'pk'", {}, ["the settings have changed"]],
  ])(
    "claims a session %s",
    async (_, settings, { refuses = false, repeated = false, isTaken = false }: Asked, reasons) => {
      const run = await idle(repeated);
      await run(`INSERT INTO merchant_settings (merchant_id, session_lifetime_ms, publishable_key, checkout_origins, repeated_orders)
      SELECT merchant_id, 1800000, 'pk', '{https://shop.example}', '${refuses ? "REFUSE" : "WARN"}' FROM payment_session WHERE id = $session`);
      if (isTaken)
        await run(
          `INSERT INTO app.order_winner SELECT merchant_id, order_ref, '${v7()}' FROM payment_session WHERE id = $session`,
        );
      const { rows } = await run(claiming().replace(/NULL\)$/, `NULL, ${settings})`));
      expect(rows.flatMap(({ reason }) => reason ?? [])).toEqual(reasons);
      const { rows: found } = await run(
        "SELECT s.phase, count(a.id)::int AS attempts FROM payment_session s LEFT JOIN attempt a ON a.session_id = s.id WHERE s.id = $session GROUP BY 1",
      );
      expect(found).toEqual([
        reasons.length === 0 ? { phase: "PROCESSING", attempts: 1 } : { phase: "IDLE", attempts: 0 },
      ]);
    },
  );

  it("leaves the session open if its attempt cannot be stored", async () => {
    const run = await idle();
    expect(await refusal(run(claiming("$attempt").replace("'SANDBOX_A'", "NULL")))).toMatch(/^23502/);
    expect((await run("SELECT phase FROM payment_session WHERE id = $session")).rows).toEqual([{ phase: "IDLE" }]);
  });
});

describe("app.held()", () => {
  it("makes the attempt the winner, orders its capture and voids what is unknown", async () => {
    const run = await submitted(client, "UNKNOWN");
    const second = await openedSecond(run, { gateway: "SANDBOX_B" });
    await run(held({ attempt: `'${second}'` }));
    const { rows } = await run(
      "SELECT a.status, a.capture_ordered_at IS NOT NULL AS ordered, a.id = s.winner_attempt_id AS wins FROM attempt a JOIN payment_session s ON s.id = a.session_id WHERE s.id = $session ORDER BY sequence",
    );
    expect(rows).toEqual([
      { status: "VOIDING", ordered: false, wins: false },
      { status: "AUTHORIZED", ordered: true, wins: true },
    ]);
  });

  it.each([
    ["'-infinity'", true],
    ["'infinity'", false],
  ])("says whether another attempt has changed since it was read at %s", async (readAt, isNews) => {
    const run = await submitted(client, "UNKNOWN");
    const second = await openedSecond(run, { gateway: "SANDBOX_B" });
    expect((await run(held({ attempt: `'${second}'`, readAt }))).rows).toMatchObject([{ is_news: isNews }]);
    // The void of the first is news to a capture that was read before it.
    expect((await run(captured({ attempt: `'${second}'`, via: "SANDBOX_B", readAt }))).rows).toHaveLength(
      isNews ? 0 : 1,
    );
  });

  it("changes nothing for a worker whose session was taken over", async () => {
    expect(await refusal((await submitted(client, "AUTHORIZING"))(held({ epoch: 2 })))).toBe(
      "LL001 the lease was taken over",
    );
  });

  it("names no second winner", async () => {
    expect(await refusal((await submitted(client, "AUTHORIZED"))(held()))).toBe("LL001 the session has a winner");
  });

  it("adopts no hold of an attempt that has moved on", async () => {
    expect(await refusal((await submitted(client, "DECLINED"))(held()))).toBe("LL001 the attempt has moved on");
  });

  it("adopts no hold after the end", async () => {
    const run = await submitted(client, "DECLINED");
    await run(`BEGIN; ${ended("DECLINED")}; COMMIT`);
    expect(await refusal(run(held()))).toMatch(/only while CREATED/);
  });

  it("adopts no hold beside a fraud decline", async () => {
    const run = await submitted(client, "FRAUD");
    expect(await refusal(run(held({ attempt: `'${v7()}'` })))).toMatch(/no hold is adopted after a fraud decline/);
  });

  it("orders nothing of a payment that is captured later", async () => {
    const run = await submitted(client, "AUTHORIZING", v7(), { isManual: true });
    expect(await refusal(run(held()))).toMatch(/only on an order/);
  });

  it("refuses a hold without its reference, or with that of another attempt", async () => {
    const [first, second, connection] = [await idle(), await idle(), v7()];
    for (const run of [first, second]) await run(claiming("$attempt", connection));
    await first(held({ reference: "'theirs'" }));
    expect(await refusal(second(held({ reference: "NULL" })))).toMatch(/has the gateway's reference/);
    expect(await refusal(second(held({ reference: "'theirs'" })))).toMatch(/^23505 /);
  });

  it("refuses a card's end that is no four digits", async () => {
    expect(await refusal((await submitted(client, "AUTHORIZING"))(held({ last4: "'424'" })))).toMatch(/four digits/);
  });
});

describe("app.captured()", () => {
  it("ends the session with one event that knows the commit's values", async () => {
    const run = await submitted(client, "AUTHORIZING");
    await run(held());
    const { at } = (await run(captured())).rows[0];
    const { rows } =
      await run(`SELECT s.status, s.phase, s.settled_at AS "settledAt", a.status AS attempt, e.sequence, convert_from(e.body, 'UTF8')::jsonb AS body
      FROM payment_session s JOIN attempt a ON a.session_id = s.id JOIN outbox_event e ON e.session_id = s.id WHERE s.id = $session`);
    const body = { timestamp: at.toISOString(), sequence: 1, settledAt: at.toISOString().replace(".000Z", "Z") };
    expect(rows).toEqual([
      { status: "SUCCEEDED", phase: "DONE", settledAt: at, attempt: "CAPTURED", sequence: 1, body },
    ]);
    expect(await refusal(run(captured()))).toBe("LL001 the lease was taken over");
  });

  it("captures nothing for a worker whose session was taken over", async () => {
    const run = await submitted(client, "AUTHORIZING");
    await run(held());
    expect(await refusal(run(captured({ epoch: 0 })))).toBe("LL001 the lease was taken over");
  });

  it("records only an ordered capture", async () => {
    expect(await refusal((await submitted(client, "AUTHORIZED"))(captured()))).toMatch(/only an ordered capture/);
  });

  it("records only the winner's, at its gateway", async () => {
    const run = await submitted(client, "AUTHORIZING");
    await run(held());
    expect(await refusal(run(captured({ via: "SANDBOX_B" })))).toMatch(/captured at the winner's gateway/);
    expect(await refusal(run(captured({ attempt: `'${v7()}'` })))).toBe("LL001 the attempt has moved on");
  });

  it("records nothing twice after an end by other means", async () => {
    const run = await submitted(client, "CAPTURING");
    await run(
      `BEGIN; UPDATE attempt SET status = 'CAPTURED', completed_at = now() WHERE id = $attempt; ${succeeded}; COMMIT`,
    );
    expect(await refusal(run(captured()))).toMatch(/^LL001/);
    expect((await run("SELECT FROM outbox_event WHERE session_id = $session")).rowCount).toBe(0);
  });

  it("changes nothing where the gateway has already reported", async () => {
    const run = await submitted(client, "AUTHORIZING");
    await run(held());
    await run(
      `INSERT INTO connection (id, merchant_id, gateway, account) SELECT connection_id, gen_random_uuid(), 'SANDBOX_A', 'a' FROM attempt WHERE id = $attempt`,
    );
    await run(`INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, received_at)
      SELECT connection_id, gen_random_uuid(), 'voided', 'att_1', 'r', now() FROM attempt WHERE id = $attempt`);
    expect((await run(captured())).rows).toEqual([]);
    expect((await run("SELECT status FROM attempt WHERE id = $attempt")).rows).toEqual([{ status: "AUTHORIZED" }]);
  });
});

describe("app.create_session()", () => {
  const fresh = (): Run => {
    const session = v7();
    return (sql) => client.query(sql.replaceAll("$session", `'${session}'`));
  };

  it("creates an idle session", async () => {
    const run = fresh();
    expect((await run(creating())).rows).toMatchObject([{ phase: "IDLE", status: "CREATED" }]);
    expect(
      (await run("SELECT expires_at - created_at = interval '1 h' AS an_hour FROM payment_session WHERE id = $session"))
        .rows,
    ).toEqual([{ an_hour: true }]);
  });

  it("records what a session does with stored cards, and nothing of one without a customer", async () => {
    const run = fresh();
    const storing = `'{"role":"SAVE","securityCode":"skip","terms":{"type":"UNSCHEDULED"},"agreementId":"${v7()}"}'`;
    await run(creating({ customer: "'customer-1'", storing }));
    const other = fresh();
    await other(creating());
    const text = `SELECT s.customer_ref, s.stored, p.role, p.security_code FROM payment_session s LEFT JOIN stored_payment p ON p.session_id = s.id
      WHERE s.id = $session`;
    expect((await run(text)).rows).toEqual([
      { customer_ref: "customer-1", stored: true, role: "SAVE", security_code: "skip" },
    ]);
    expect((await other(text)).rows).toEqual([{ customer_ref: null, stored: false, role: null, security_code: null }]);
  });

  it("creates one session for each key until the key expires, and then another", async () => {
    const key = { merchant: `'${v7()}'`, key: "'k'", hash: hash, answer: "'sealed'" };
    expect((await fresh()(creating(key))).rows).toHaveLength(1);
    expect((await fresh()(creating(key))).rows).toEqual([]);
    await client.query("UPDATE idempotency SET expires_at = now() WHERE key = 'k'");
    expect((await fresh()(creating(key))).rows).toHaveLength(1);
  });

  it("creates nothing with a key in a cell that the merchant has left", async () => {
    const merchant = `'${v7()}'`;
    await client.query(
      `INSERT INTO merchant_settings (merchant_id, session_lifetime_ms, publishable_key, moved_to) VALUES (${merchant}, 3600000, 'pk', 2)`,
    );
    expect((await fresh()(creating({ merchant, key: "'k'", hash, answer: "'sealed'" }))).rows).toEqual([]);
  });

  it.each([
    ["an amount", { amount: "0" }, "an amount is between 1 and 999999999999 minor units"],
    ["a currency", { currency: "'eur'" }, "a currency is three capital letters"],
    ["a reference", { reference: "''" }, "an order reference has 1 to 255 characters"],
    ["an address", { email: "'a@'" }, "an email address has 3 to 254 characters"],
    ["a customer's reference", { customer: "''", storing: "'{}'" }, "a customer reference has 1 to 255 characters"],
    ["a life", { life: "0" }, "a session expires after it was created"],
    ["a time for a capture at once", { by: "now() + interval '2 h'" }, "only a payment that is captured later is held"],
    ["a time before the submission", { later: "true", by: "now()" }, "a capture comes after the submission"],
  ])("refuses %s that breaks its rule", async (_, change, reason) => {
    expect(await refusal(fresh()(creating(change)))).toBe(`23514 ${reason}`);
  });
});

describe("app.failed()", () => {
  it("ends the attempt and opens the plan's next", async () => {
    const run = await authorizing();
    await run(failed());
    const { rows } = await run(
      "SELECT sequence, status, completed_at IS NULL AS open, amount_minor::int AS amount FROM attempt WHERE session_id = $session ORDER BY 1",
    );
    expect(rows).toEqual([
      { sequence: 1, status: "DECLINED", open: false, amount: 4900 },
      { sequence: 2, status: "AUTHORIZING", open: true, amount: 4900 },
    ]);
  });

  it("changes nothing for a worker whose session was taken over, or whose attempt has moved on", async () => {
    const run = await authorizing();
    expect(await refusal(run(failed({ epoch: 2 })))).toBe("LL001 the lease was taken over");
    await run(setAttempt("status = 'UNKNOWN', failure_kind = 'TIMEOUT'"));
    expect(await refusal(run(failed()))).toBe("LL001 the attempt has moved on");
  });

  it("leaves a payment alone when its time is over", async () => {
    const run = await authorizing();
    await run(setSession("submit_deadline = now()"));
    expect((await run(failed())).rows).toEqual([{ at: null }]);
    expect((await run("SELECT status FROM attempt WHERE session_id = $session")).rows).toEqual([
      { status: "AUTHORIZING" },
    ]);
  });

  it("opens nothing beside a winner", async () => {
    const run = await authorizing();
    await run(held());
    expect((await run(failed())).rows).toEqual([{ at: null }]);
  });

  it.each([
    ["a fraud decline", { kind: "FRAUD" }, "what ends an attempt without a stop is a decline, an error or silence"],
    [
      "a decline that is none",
      { kind: "TIMEOUT" },
      "what ends an attempt without a stop is a decline, an error or silence",
    ],
    [
      "another end",
      { as: "VOIDED", kind: "TIMEOUT" },
      "what ends an attempt without a stop is a decline, an error or silence",
    ],
    ["an unknown refusal", { refused: "'OTHER'" }, "no gateway refuses in such a way"],
    ["no reason", { because: "NULL" }, "what follows an attempt has its reason"],
    ["a wrong end of a card number", { last4: "'42'" }, "the end of a card number is four digits"],
    ["a connection that is not the plan's next", { to: v7() }, "the next attempt is the plan's next"],
  ])("refuses %s", async (_, change, reason) => {
    expect(await refusal((await authorizing())(failed(change)))).toBe(`23514 ${reason}`);
  });

  /** The first attempt is unknown, and the second at its gateway. */
  async function secondAuthorizing(): Promise<{ run: Run; second: string }> {
    const run = await authorizing();
    await run(setAttempt("status = 'UNKNOWN', failure_kind = 'TIMEOUT'"));
    const second = await openedSecond(run, { gateway: "SANDBOX_B", connection: next });
    return { run, second };
  }

  it.each([
    ["a fraud decline", "status = 'DECLINED', completed_at = now(), failure_kind = 'FRAUD', stop = 'fraud'"],
    ["a stop", "status = 'DECLINED', completed_at = now(), failure_kind = 'HARD_DECLINE', stop = 'scheme_rule'"],
    ["news about another attempt", "status = 'DECLINED', completed_at = now(), failure_kind = 'HARD_DECLINE'"],
  ])("opens nothing after %s", async (_, reported) => {
    const { run, second } = await secondAuthorizing();
    const { rows } = await run("SELECT now()::text AS at");
    await run(setAttempt(`${reported}`));
    expect((await run(failed({ attempt: `'${second}'`, readAt: `'${rows[0].at}'` }))).rows).toEqual([{ at: null }]);
    expect((await run(`SELECT status FROM attempt WHERE id = '${second}'`)).rows).toEqual([{ status: "AUTHORIZING" }]);
  });

  it("makes at most five attempts of the plan", async () => {
    const run = await authorizing();
    const plan = Array.from({ length: 6 }, () => ({ connectionId: v7() }));
    await run(setSession(`plan = '${JSON.stringify(plan)}'`));
    for (let count = 1; count <= 4; count++) {
      await run(
        failed({
          attempt: "(SELECT id FROM attempt WHERE session_id = $session AND status = 'AUTHORIZING')",
          to: plan[count]!.connectionId,
        }),
      );
    }
    const sixth = failed({
      attempt: "(SELECT id FROM attempt WHERE session_id = $session AND status = 'AUTHORIZING')",
      to: plan[5]!.connectionId,
    });
    expect(await refusal(run(sixth))).toBe("23514 a session has at most five attempts, one repeat and one retry");
  });
});

describe("the functions of payments", () => {
  it("leave the guards in force for every other change", async () => {
    const run = await submitted(client, "AUTHORIZING");
    await run(held());
    expect(await refusal(run(setAttempt("capture_ordered_at = NULL")))).toMatch(/stays ordered/);
  });
});
