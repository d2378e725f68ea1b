import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { connectToPaymentDatabase, ended, submitted, succeeded } from "./payment-rows.fixture.ts";

const client = await connectToPaymentDatabase();
type Run = Awaited<ReturnType<typeof submitted>>;

const hash = `sha256('t')`;
const claiming = (attempt = "$attempt", connection: string = v7()) =>
  `SELECT phase FROM app.claim($session, 20000, 45000, 't', ${hash}, 1, '[]', '[]', NULL, NULL, NULL, ${attempt}, 'SANDBOX_A', '${connection}', 1, 1, 'why', 60000)`;
const held = ({ epoch = 1, reference = `'${v7()}'`, last4 = "'4242'", attempt = "$attempt" } = {}) =>
  `SELECT app.held($session, ${epoch}, ${attempt}, ${reference}, NULL, 20000, 10000, 'visa', ${last4})`;
const captured = ({ epoch = 1, via = "SANDBOX_A", attempt = "$attempt" } = {}) =>
  `SELECT ended_at AS at FROM app.captured($session, ${epoch}, ${attempt}, 'att_1', '${via}', true, false, NULL, NULL, 20000, 10000, gen_random_uuid(), 'evt_1',
    '{"timestamp":"evt_1:time","sequence":"evt_1:sequence","settledAt":"evt_1:settled"}', 10000)`;

/** An idle session, and a way to change it. */
async function idle(): Promise<Run> {
  const [session, attempt] = [v7(), v7()];
  const run: Run = (sql) =>
    client.query(sql.replaceAll("$session", `'${session}'`).replaceAll("$attempt", `'${attempt}'`));
  await run(`INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
    VALUES ($session, '${v7()}', 4900, 'EUR', 'o', 1, now() + interval '1 h')`);
  return run;
}

const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "it was done",
    (error: Error & { code?: string }) => `${error.code} ${error.message}`,
  );

describe("app.claim()", () => {
  it("claims a session with its first attempt, once", async () => {
    const run = await idle();
    await run(claiming());
    const { rows } = await run(
      "SELECT s.phase, s.lease_epoch AS epoch, a.status, a.amount_minor::int AS amount FROM payment_session s JOIN attempt a ON a.session_id = s.id WHERE s.id = $session",
    );
    expect(rows).toEqual([{ phase: "PROCESSING", epoch: 1, status: "AUTHORIZING", amount: 4900 }]);
    expect(await refusal(run(claiming(`'${v7()}'`)))).toBe("LL001 the session cannot be claimed");
  });

  it("claims nothing that has expired", async () => {
    const run = await idle();
    await run("UPDATE payment_session SET expires_at = created_at + interval '1 ms' WHERE id = $session");
    expect(await refusal(run(claiming()))).toBe("LL001 the session cannot be claimed");
  });

  it("leaves the session open if its attempt cannot be stored", async () => {
    const run = await idle();
    expect(await refusal(run(claiming("$attempt").replace("'SANDBOX_A'", "NULL")))).toMatch(/^23502/);
    expect((await run("SELECT phase FROM payment_session WHERE id = $session")).rows).toEqual([{ phase: "IDLE" }]);
  });
});

describe("app.held()", () => {
  it("makes the attempt the winner, orders its capture and voids what is unknown", async () => {
    const run = await submitted(client, "UNKNOWN");
    const second = v7();
    await run(`INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency, latest_execution_at)
      VALUES ($session, '${second}', 2, 'SANDBOX_B', '${v7()}', 1, 2, 'why', 4900, 'EUR', now() + interval '1 h')`);
    await run(held({ attempt: `'${second}'` }));
    const { rows } = await run(
      "SELECT a.status, a.capture_ordered_at IS NOT NULL AS ordered, a.id = s.winner_attempt_id AS wins FROM attempt a JOIN payment_session s ON s.id = a.session_id WHERE s.id = $session ORDER BY sequence",
    );
    expect(rows).toEqual([
      { status: "VOIDING", ordered: false, wins: false },
      { status: "AUTHORIZED", ordered: true, wins: true },
    ]);
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

describe("the functions of payments", () => {
  it("run as the owner, with a fixed search path, and are all that do", async () => {
    const { rows } = await client.query(`
      SELECT n.nspname || '.' || regexp_replace(proname, '_[0-9]{4}_[0-9]{2}$', '_MONTH') AS name, bool_and(proconfig::text LIKE '%search_path=public, pg_temp%') AS fixed
      FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE prosecdef AND n.nspname IN ('app','partitions','public') GROUP BY 1 ORDER BY 1`);
    const names = ["captured", "claim", "held"].flatMap((name) => [
      `partitions.${name}_MONTH`,
      `partitions.${name}_rest`,
    ]);
    const all = ["app.captured", "app.claim", "app.held", "app.keep_partitions", ...names].toSorted();
    expect(rows).toEqual(all.map((name) => ({ name, fixed: true })));
  });

  it("leave the guards in force for every other change", async () => {
    const run = await submitted(client, "AUTHORIZING");
    await run(held());
    expect(await refusal(run("UPDATE attempt SET capture_ordered_at = NULL WHERE id = $attempt"))).toMatch(
      /stays ordered/,
    );
  });
});
