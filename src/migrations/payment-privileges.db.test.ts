import { v7 } from "uuid";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { awaited, captured, connectWithService, submitted, succeeded } from "./payment-rows.fixture.ts";

const { owner, service } = await connectWithService();

/** The functions that check their own changes. */
const checked = ["captured", "claim", "create_session", "failed", "held"];
/** The others, each with a copy for a month's partitions. */
const guarded = [
  ...["ask_for_capture", "begin_challenge", "begin_completion", "begin_device_check", "begin_hold"],
  ...["begin_provider_request", "begin_wait", "cancel_action", "clear_proofs", "clear_winner", "close_session"],
  ...[
    "confirm_capture",
    "confirm_decision",
    "count_completion",
    "end_authentication",
    "end_provided",
    "end_unsubmitted",
  ],
  ...[
    "end_wait",
    "erase_customer",
    "expire_session",
    "insert_authentication",
    "insert_frictionless",
    "insert_provided",
  ],
  ...[
    "insert_dispute_movement",
    "insert_refund",
    "lock_leased",
    "lock_session",
    "lock_session_of",
    "look_again",
    "look_at_hold_later",
    "look_at_provider",
    "look_soon",
    "mark_dispute_due",
  ],
  ...["move_attempt", "move_refund", "name_successor", "name_winner", "open_attempt", "park_session"],
  ...["record_dispute", "decide_dispute", "link_dispute_refund"],
  ...["insert_dispute_response", "send_dispute_response", "move_dispute_response"],
  ...["park_session_at_provider", "postpone_look", "postpone_provider_look", "record_capture_due"],
  ...[
    "record_pending_event",
    "renew_lease",
    "resume_action",
    "set_action_ticket",
    "set_capture_failed",
    "set_decision",
  ],
  ...[
    "set_paying_session",
    "set_returned",
    "set_unrecorded_check",
    "settle_session",
    "start_device_check",
    "take_hold_to_cancel",
  ],
  ...[
    "take_hold_to_capture",
    "take_over",
    "take_renewal",
    "unset_capture_failed",
    "use_action_ticket",
    "void_unknown_attempts",
  ],
  ...["wake_session", "withdraw_decision"],
  ...["ask_for_link", "begin_chain", "claim_stored", "drop_card", "keep_card", "open_link", "use_stored_card"],
];
/** Those of all months at once, and of other tables. */
const ofAllMonths = [
  ...[
    "end_orphan",
    "erase_customers",
    "expire_unsubmitted_of",
    "hurry_orphan",
    "record_orphan",
    "remove_bank_messages",
  ],
  ...[
    "act_on_decline",
    "remove_old_orphans",
    "repeat_orphan",
    "take_due_orphan",
    "take_due_refund",
    "take_due_response",
    "take_over_next",
  ],
  ...["fill_orders", "keep_partitions", "take_order", "update_order", "write_orders"],
  ...["cancel_agreement", "delete_method", "end_agreements", "end_erasure", "erase_stored_customer", "lose_card"],
  ...["read_stored_cards", "remove_dispute_content", "erase_dispute_content"],
  ...[
    "remove_old_card_declines",
    "remove_stored_cards",
    "take_due_erasures",
    "take_due_savings",
    "lift_card_stop",
    "make_link",
    "take_recovery",
  ],
];
/** Writes what the guards of another cell have checked. */
const ofMoves = ["write_stored_cards"];

describe("the service's own role", () => {
  it("reads payments, and may write none of their tables, partitions and views", async () => {
    const { rows } = await service.query<{ name: string; reads: boolean; writes: string[] }>(`
      SELECT c.oid::regclass::text AS name, has_table_privilege(c.oid, 'SELECT') AS reads, ARRAY(
        SELECT p FROM unnest('{INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) p
        WHERE has_table_privilege(c.oid, p) OR p IN ('INSERT','UPDATE','REFERENCES') AND has_any_column_privilege(c.oid, p)) AS writes
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname NOT IN ('pg_catalog','information_schema','pg_toast') AND c.relkind IN ('r','p','v','m','f')
        AND (c.relname ~ '^(payment_session|attempt|authentication|refund|dispute|dispute_movement|dispute_response|stored_payment|payment_method|card_erasure|agreement|renewal|renewal_try|recovery_link|card_state|card_decline|orphaned_authorization)(_rest|_[0-9]{4}_[0-9]{2})?$'
          OR n.nspname = 'app' OR c.relkind = 'v')`);
    expect(rows.filter(({ name }) => name.startsWith("partitions.")).length).toBeGreaterThanOrEqual(4 * 3);
    expect(rows.filter(({ writes }) => writes.length > 0)).toEqual([]);
    const unread = rows.filter(({ reads }) => !reads).map(({ name }) => name);
    expect(unread).toEqual([]);
    const { rows: schemas } = await service.query(
      "SELECT nspname FROM pg_namespace WHERE has_schema_privilege(oid, 'CREATE')",
    );
    expect(schemas).toEqual([]);
  });

  it.each([
    "INSERT INTO payment_session DEFAULT VALUES",
    "UPDATE payment_session SET lease_until = now()",
    "DELETE FROM payment_session",
    "SELECT FROM payment_session FOR UPDATE",
    "INSERT INTO attempt DEFAULT VALUES",
    "UPDATE attempt SET retries = 0",
    "UPDATE partitions.attempt_rest SET retries = 0",
    "UPDATE authentication SET version = '2'",
    "UPDATE refund SET retries = 0",
    "DELETE FROM refund",
    "UPDATE dispute SET status = 'WON'",
    "INSERT INTO dispute_movement DEFAULT VALUES",
    "UPDATE dispute_response SET status = 'REFUSED'",
    "UPDATE orphaned_authorization SET retries = 0",
    "DELETE FROM orphaned_authorization",
    "INSERT INTO app.order_winner DEFAULT VALUES",
    "SELECT app.copy_functions('_rest', '_x')",
  ])("is refused %s", async (sql) => {
    await expect(service.query(sql)).rejects.toThrow(/permission denied/);
  });

  it("is refused them in the partitions of a new month", async () => {
    await owner.query(
      "SELECT app.make_set('payments', '_rest', '_2001_01', 'FOR VALUES FROM (''00000000-0000-0000-0000-000000000000'') TO (''00000000-0000-0000-0000-000000000001'')')",
    );
    await service.query(
      "SELECT FROM partitions.attempt_2001_01, partitions.outbox_event_2001_01 FOR UPDATE OF outbox_event_2001_01",
    );
    // PostgreSQL warns only, and grants nothing.
    await service.query("SELECT app.grant_as_whole('payments', '_2001_01')");
    await expect(service.query("UPDATE partitions.attempt_2001_01 SET retries = 0")).rejects.toThrow(
      /permission denied/,
    );
  });
});

describe("the functions that run as the owner", () => {
  it("are these alone, with a fixed search path, and for the service alone", async () => {
    const { rows } = await owner.query<{ name: string; path: string; owner: string; allowed: string[] }>(`
      SELECT n.nspname || '.' || regexp_replace(proname, '_[0-9]{4}_[0-9]{2}$', '_MONTH') AS name, proconfig::text AS path,
        CASE proowner WHEN d.datdba THEN 'the owner' END AS owner, ARRAY(
          SELECT CASE WHEN grantee = proowner THEN 'the owner' WHEN grantee = 'environment_runtime'::regrole THEN 'the service' ELSE grantee::text END
          FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) ORDER BY 1) AS allowed
      FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_database d ON d.datname = current_database()
      WHERE prosecdef AND n.nspname NOT IN ('pg_catalog','information_schema') GROUP BY 1, 2, 3, 4 ORDER BY 1`);
    const copies = (name: string) => [`app.${name}`, `partitions.${name}_MONTH`, `partitions.${name}_rest`];
    const found = rows.map(({ name, path, ...others }) => ({
      name,
      path: path.replace(/,lock_timeout=.*?(?=})/, ""),
      ...others,
    }));
    const of = (names: readonly string[], path: string) =>
      names.map((name) => ({
        name,
        path: `{"search_path=${path}"}`,
        owner: "the owner",
        allowed: ["the owner", "the service"],
      }));
    const expected = [
      ...of(checked.flatMap(copies), "public, partitions, pg_temp"),
      ...of(guarded.flatMap(copies), "public, pg_temp"),
      ...of(
        ofAllMonths.map((name) => `app.${name}`),
        "public, pg_temp",
      ),
      ...of(
        ofMoves.map((name) => `app.${name}`),
        "public, partitions, pg_temp",
      ),
    ];
    const sorted = (list: readonly { name: string }[]) =>
      list.toSorted((one, other) => (one.name < other.name ? -1 : 1));
    expect(sorted(found)).toEqual(sorted(expected));
  });

  it("are not the only ones that PUBLIC cannot execute", async () => {
    const { rows } = await owner.query(`
      SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace,
        aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE grantee = 0 AND n.nspname IN ('app','partitions','public')`);
    expect(rows).toEqual([]);
  });

  // PostgreSQL runs a deferred trigger as the role that made the change, with the search path of the commit.
  it("have a fixed search path in what the commit checks for them", async () => {
    const { rows } = await owner.query<{ name: string; path: string | null }>(`
      SELECT DISTINCT regexp_replace(proname, '_[0-9]{4}_[0-9]{2}$', '_MONTH') AS name, proconfig::text AS path
      FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE t.tgdeferrable AND NOT t.tgisinternal`);
    expect(rows.length).toBeGreaterThanOrEqual(4);
    for (const { name, path } of rows) expect([name, path]).toEqual([name, '{"search_path=public, pg_temp"}']);
  });

  it("check their own changes, or are checked by the guards, and a caller cannot choose", async () => {
    const run = await of("DECLINED");
    await service.query("SET search_path = public, partitions, pg_temp");
    const settled = run("SELECT FROM app.settle_session($session, 'SUCCEEDED', 'SANDBOX_A', true, false, NULL)");
    await expect(settled).rejects.toThrow("SUCCEEDED needs a winner");
    await service.query("RESET search_path");
  });
});

type Run = Awaited<ReturnType<typeof submitted>>;

/** A payment of the owner's rows, and a way to call functions about it as the service. */
async function of(state: Parameters<typeof submitted>[1], ...first: readonly string[]): Promise<Run> {
  const session = v7();
  const run = await submitted(owner, state, session);
  if (first.length > 0) await run(`BEGIN; ${first.join("; ")}; COMMIT`);
  const { rows } = await owner.query("SELECT id FROM attempt WHERE session_id = $1", [session]);
  return (sql) => service.query(sql.replaceAll("$session", `'${session}'`).replaceAll("$attempt", `'${rows[0].id}'`));
}

const move = (from: string, changes: object) =>
  `SELECT status, amount_minor::int AS amount FROM app.move_attempt($session, $attempt, '${from}', '${JSON.stringify(changes)}', '{}')`;
const refund = (minor: number) =>
  `SELECT FROM app.insert_refund($session, '${v7()}', $attempt, (SELECT connection_id FROM attempt WHERE id = $attempt), 'SANDBOX_A', ${minor}, 'EUR',
     'REQUESTED', 'MERCHANT', NULL, NULL, NULL, '\\x00', NULL, NULL, NULL, false)`;
const itself = "(SELECT id FROM authentication WHERE session_id = $session)";

describe("a service that calls them in its own order", () => {
  beforeEach(async () => {
    await service.query("ROLLBACK");
  });

  const refusals: [what: string, from: Parameters<typeof of>, sql: string, reason: RegExp][] = [
    [
      "names no winner that holds nothing",
      ["DECLINED"],
      "SELECT FROM app.name_winner($session, $attempt)",
      /payment_session_winner/,
    ],
    [
      "ends no session without its capture",
      ["AUTHORIZED"],
      "SELECT FROM app.settle_session($session, 'SUCCEEDED', 'SANDBOX_A', true, false, NULL)",
      /payment_session_captured/,
    ],
    [
      "ends no session while a capture may still land",
      ["CAPTURING"],
      "SELECT FROM app.clear_winner($session); SELECT FROM app.settle_session($session, 'DECLINED', NULL, NULL, false, 'x')",
      /no end without a capture while one may still land/,
    ],
    [
      "closes no session with an open attempt",
      ["UNKNOWN"],
      "SELECT FROM app.settle_session($session, 'DEGRADED', NULL, NULL, false, 'x')",
      /unknown attempts go to VOIDING/,
    ],
    ["revives no attempt", ["DECLINED"], move("DECLINED", { status: "AUTHORIZED" }), /illegal attempt transition/],
    [
      "captures nothing without an order",
      ["AUTHORIZED"],
      move("AUTHORIZED", { status: "CAPTURED" }),
      /only an ordered capture is CAPTURED/,
    ],
    [
      "gives no unanswered capture up",
      ["CAPTURING"],
      `SELECT FROM app.clear_winner($session); ${move("AUTHORIZED", { status: "VOIDING" })}`,
      /an unanswered capture is never given up/,
    ],
    [
      "forgets no reference",
      ["AUTHORIZED"],
      move("AUTHORIZED", { gateway_reference: null }),
      /gateway reference never changes|has the gateway's reference/,
    ],
    [
      "opens no attempt after a fraud decline",
      ["FRAUD"],
      `SELECT FROM app.open_attempt($session, '${v7()}', 'SANDBOX_B', '${v7()}', 1, 2, 'why', 4900, 'EUR', 60000, 0, NULL)`,
      /a fraud-class decline is never retried/,
    ],
    [
      "opens no attempt over another amount",
      ["DECLINED"],
      `SELECT FROM app.open_attempt($session, '${v7()}', 'SANDBOX_B', '${v7()}', 1, 2, 'why', 1, 'EUR', 60000, 0, NULL)`,
      /attempt_session_id_amount_minor_currency_fkey/,
    ],
    [
      "holds nothing of a payment that is captured at once",
      ["AUTHORIZED"],
      "SELECT FROM app.begin_hold($session, now() + interval '1 d', 0, 0)",
      /only a payment that is captured later is held/,
    ],
    [
      "asks for no capture of what is not held",
      ["AUTHORIZED"],
      "SELECT FROM app.ask_for_capture($session)",
      /only a payment that is captured later is held/,
    ],
    [
      "puts no session in doubt",
      ["DECLINED"],
      "SELECT FROM app.set_unrecorded_check($session, now(), NULL)",
      /only the owner of the database declares a restore/,
    ],
    [
      "completes nothing after the customer gave up",
      ["AUTHORIZING", ...awaited],
      `SELECT FROM app.cancel_action($session, ${itself}); SELECT FROM app.end_authentication($session, ${itself}, 'AWAITING_CUSTOMER', 'AUTHENTICATED', NULL, NULL, NULL, NULL, NULL)`,
      /nothing is completed after a customer gave up/,
    ],
    [
      "ends no wait while an action is open",
      ["AUTHORIZING", ...awaited],
      "SELECT FROM app.end_wait($session)",
      /a session waits exactly while an action is open/,
    ],
    [
      "refunds no more than was captured",
      ["CAPTURING", captured, succeeded],
      `${refund(4_000)}; ${refund(901)}`,
      /no more is refunded than was captured/,
    ],
    ["refunds nothing of a payment without a capture", ["DECLINED"], refund(1), /a refund is of a captured payment/],
    [
      "takes no decision alone that takes two",
      ["CAPTURING"],
      `SELECT FROM app.set_decision($session, $attempt, 'CAPTURED', 'ref', 'seen', 'ada', true, NULL); SELECT FROM app.confirm_decision($session, $attempt, 'ada')`,
      /another person confirms a decision that takes two/,
    ],
    [
      "orphans no hold of an attempt that may own it",
      ["AUTHORIZED"],
      "SELECT FROM app.record_orphan($session, $attempt, 'r', 'notification')",
      /final without a hold/,
    ],
  ];
  it.each(refusals)("%s", async (_, from, sql, reason) => {
    const run = await of(...from);
    const failure = await run(`BEGIN; ${sql}; COMMIT`).then(
      () => "it was done",
      (error: Error & { constraint?: string }) => `${error.message} ${error.constraint ?? ""}`,
    );
    expect(failure).toMatch(reason);
  });

  it.each([
    ["moves no amount of an attempt", { retries: 1, amount_minor: 4900 }],
    ["moves no attempt to another account", { connection_id: v7() }],
    ["moves no decision of a person", { decision: "CAPTURED" }],
    ["moves no column that there is not", { retries: 1, capture_reference_: "r" }],
    ["moves no time that the guard sets", {}, "changed_at"],
    ["stamps no column that may not move", {}, "started_at"],
    ["stamps no column without a name", {}, null],
  ])("%s", async (_, changes, stamp: string | null = "looked_up_at") => {
    const run = await of("UNKNOWN");
    const call = `app.move_attempt($session, $attempt, 'UNKNOWN', '${JSON.stringify(changes)}', ARRAY[${stamp && `'${stamp}'`}]::text[])`;
    await expect(run(`SELECT FROM ${call}`)).rejects.toThrow("no such change");
    expect((await run("SELECT retries, amount_minor::int AS amount FROM attempt WHERE id = $attempt")).rows).toEqual([
      { retries: 0, amount: 4900 },
    ]);
  });

  it.each([
    ["amount_minor", 1],
    ["attempt_id", v7()],
    ["origin", "GATEWAY"],
    ["next_try_at", null],
    ["state", "SUCCEEDED"],
  ])("moves no %s of a refund", async (column, value) => {
    const run = await of("CAPTURING", captured, succeeded);
    await run(refund(100));
    const changes = JSON.stringify({ [column]: value });
    const moved = run(
      `SELECT FROM app.move_refund($session, (SELECT id FROM refund WHERE session_id = $session), 'REQUESTED', '${changes}', '{}', false, NULL)`,
    );
    await expect(moved).rejects.toThrow(`no such change: ${column}`);
  });

  it("may move each column that the functions name, and no other one", async () => {
    for (const name of ["move_attempt", "move_refund"]) {
      const { rows } = await owner.query<{ text: string }>(
        `SELECT prosrc AS text FROM pg_proc WHERE oid = 'app.${name}'::regproc`,
      );
      const columns = (pattern: RegExp) =>
        pattern
          .exec(rows[0]!.text)![1]!
          .split(",")
          .map((one) => one.trim());
      const moved = columns(/SET \(([^)]+)\)/).filter((column) => column !== "next_try_at");
      expect(columns(/'\{([^}]+)\}'\);/)).toEqual(moved);
    }
  });

  it("goes on in no other cluster, whatever its connection is set to", async () => {
    const run = await of("AUTHORIZING");
    await owner.query(
      `UPDATE payment_session SET lease_until = now() - interval '1 h' WHERE phase = 'PROCESSING';
       UPDATE replica_mark SET system_identifier = '1'`,
    );
    onTestFinished(async () => {
      await service.query("RESET ALL");
      await owner.query("UPDATE replica_mark SET system_identifier = app.system_identifier()");
    });
    await service.query("SET switchyard.cluster = '1'");
    await expect(run("SELECT FROM app.take_over($session, 20000)")).rejects.toThrow("another cluster");
    expect((await service.query("SELECT app.is_timeline_confirmed() AS it")).rows).toEqual([{ it: false }]);
  });

  it("takes no lease that has not lapsed, works under no other one, and expires no session that was submitted", async () => {
    const run = await of("AUTHORIZING");
    await owner.query(
      "UPDATE payment_session SET lease_until = now() + interval '1 h', expires_at = now() - interval '1 ms' WHERE phase = 'PROCESSING'",
    );
    for (const call of [
      "app.take_over($session, 20000)",
      "app.take_over_next(20000)",
      "app.lock_leased($session, 2)",
      "app.renew_lease($session, 2, 20000, 0, 'visa', NULL)",
      "app.park_session($session, 2, now(), '{}')",
      "app.take_hold_to_cancel($session, (SELECT merchant_id FROM payment_session WHERE id = $session), 0)",
      "app.take_hold_to_capture($session, (SELECT merchant_id FROM payment_session WHERE id = $session), 0, NULL)",
      "app.expire_session($session)",
      "app.lock_session_of($session, gen_random_uuid())",
      "app.lock_session_of($session, NULL)",
      "app.erase_customer(gen_random_uuid(), $session)",
    ])
      expect([call, (await run(`SELECT FROM ${call}`)).rowCount]).toEqual([call, 0]);
  });
});
