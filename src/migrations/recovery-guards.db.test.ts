import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { captureRefused, connectWithService, refused, setAttempt, submitted } from "./payment-rows.fixture.ts";

const { owner: client, service } = await connectWithService();

const neverExisted = setAttempt(`status = 'VOIDED', void_kind = 'NEVER_EXISTED', completed_at = now(),
  void_asked_at = now() + interval '2 h'`);

describe("the database", () => {
  it("believes 'never existed' after a refused capture, beyond the latest execution time alone", async () => {
    const run = await submitted(client, "CAPTURING");
    await run(`BEGIN; ${captureRefused}; COMMIT`);
    const early = neverExisted.replace("+ interval '2 h'", "");
    await refused(run, early, /a hold never existed only if none can follow/);
    await run(neverExisted);
  });

  it("notes when an attempt changed, and when it began to be voided", async () => {
    const run = await submitted(client, "UNKNOWN");
    // As text, which keeps the microseconds.
    const read = async () =>
      (await run("SELECT changed_at::text, voiding_at::text FROM attempt WHERE id = $attempt")).rows[0];
    const before = await read();
    await run(setAttempt("status = 'VOIDING'"));
    const voiding = await read();
    expect([before.voiding_at, voiding.voiding_at]).toEqual([null, voiding.changed_at]);
    expect(voiding.changed_at).not.toBe(before.changed_at);
    await run(setAttempt("retries = 1"));
    expect((await read()).voiding_at).toEqual(voiding.voiding_at);
  });

  it("lets no work item be about something else later", async () => {
    const id = v7();
    await client.query(
      `INSERT INTO work_item (id, kind, merchant_id, session_id, attempt_id, detail) VALUES ($1, 'ORPHANED_AUTHORIZATION', $1, $1, $1, 'd')`,
      [id],
    );
    const change = client.query("UPDATE work_item SET kind = 'CAPTURE_FAILED' WHERE id = $1", [id]);
    await expect(change).rejects.toThrow("what a work item is about never changes");
    const nameless = client.query("UPDATE work_item SET closed_at = now() WHERE id = $1", [id]);
    await expect(nameless).rejects.toThrow("work_item_check");
    await expect(service.query("DELETE FROM work_item WHERE id = $1", [id])).rejects.toThrow("permission denied");
  });

  it("has room for one open row of a matter, and for any number that a person has closed", async () => {
    const session = v7();
    const insert = `INSERT INTO work_item (id, kind, merchant_id, session_id, detail, closed_at, closed_by, close_note)
      VALUES ($1, 'CAPTURE_UNCONFIRMED', $2, $2, 'd', $3, $4, $4)`;
    const closed = ["2026-01-01", "ada"];
    for (const state of [closed, closed, [null, null]]) await client.query(insert, [v7(), session, ...state]);
    await expect(client.query(insert, [v7(), session, null, null])).rejects.toThrow("work_item_one_open");
  });

  it("has room for one reconciliation at a time", async () => {
    const insert = `INSERT INTO reconciliation_run (id, window_from, window_to) VALUES ($1, now() - interval '1 d', now())`;
    await client.query(insert, [v7()]);
    await expect(client.query(insert, [v7()])).rejects.toThrow("reconciliation_run_one_at_a_time");
  });
});
