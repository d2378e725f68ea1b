import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { openTestDatabase } from "../dev/testing/postgres.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { raiseAlertsOnce } from "./raise-alerts.ts";

const { owner, database } = await forFile(openTestDatabase);
let merchantId: string;

const asReplica = (sql: string) =>
  owner.query(`SET session_replication_role = replica; ${sql}; SET session_replication_role = origin`);

beforeEach(async () => {
  merchantId = v7();
  await asReplica("DELETE FROM alert; DELETE FROM agreement; DELETE FROM connection; DELETE FROM card_erasure");
});

const modes: Readonly<Record<string, "own" | "network">> = { SANDBOX_A: "own", SANDBOX_B: "network" };
const raise = () => {
  const connectorOf = (gateway: string) => ({ storedCards: modes[gateway] });
  return raiseAlertsOnce({ database, runtime: systemRuntime, log: { warn: () => {} }, connectorOf });
};
const open = async () => {
  const text = "SELECT kind, gateway, detail FROM alert WHERE merchant_id = $1 AND over_at IS NULL ORDER BY kind";
  return (await owner.query(text, [merchantId])).rows;
};
const connect = async (gateway: string, of = merchantId) => {
  const id = v7();
  await asReplica(`INSERT INTO connection (id, merchant_id, gateway, account, credential_version, first_verified_at)
    VALUES ('${id}', '${of}', '${gateway}', '${id}', 1, now())`);
  return id;
};

describe("an agreement that no gateway can charge", () => {
  const agree = async (own: string | null, network: string | null, status = "ACTIVE") => {
    const quoted = (text: string | null) => (text === null ? "NULL" : `'${text}'`);
    await asReplica(`INSERT INTO agreement (id, merchant_id, customer_ref, method_id, type, text, currency, status, status_because, session_id, consented_at,
        own_connection_id, own_customer, own_method, network_transaction_id)
      SELECT '${v7()}', '${merchantId}', 'c', '${v7()}', 'UNSCHEDULED', 'Each month', 'EUR', '${status}', 'why', '${v7()}', now(),
        ${quoted(own)}, ${quoted(own)}, ${quoted(own)}, ${quoted(network)}`);
  };

  it("opens one alert for all of a merchant, until a gateway can charge each", async () => {
    const [a, b] = [await connect("SANDBOX_A"), await connect("SANDBOX_B")];
    await agree(a, null);
    await agree(a, "1");
    await agree(null, "1");
    await agree(b, "1");
    await agree(null, null, "NEEDS_CARD");
    await raise();
    expect(await open()).toEqual([]);
    await agree(null, null);
    await agree(v7(), null);
    await Promise.all([raise(), raise()]);
    expect(await open()).toEqual([
      {
        kind: "AGREEMENTS_UNCHARGEABLE",
        gateway: null,
        detail: expect.stringMatching(/^2 agreements, the newest of them agr_\w{26}, cannot be charged: /),
      },
    ]);
    await asReplica(
      `DELETE FROM agreement WHERE network_transaction_id IS NULL AND own_connection_id IS DISTINCT FROM '${a}'`,
    );
    await raise();
    expect(await open()).toEqual([]);
  });

  it("opens when the only gateway that could is paused", async () => {
    const b = await connect("SANDBOX_B");
    await connect("SANDBOX_B", v7());
    await agree(null, "1");
    await raise();
    expect(await open()).toEqual([]);
    await asReplica(`UPDATE connection SET paused = true WHERE id = '${b}'`);
    await raise();
    expect((await open()).map(({ kind }) => kind)).toEqual(["AGREEMENTS_UNCHARGEABLE"]);
  });
});

describe("renewals that are stopped", () => {
  /** Makes renewals at a gateway, of which the first `stopped` have stopped their card by a try of this kind. */
  async function renew(gateway: string, counts: { renewals: number; stopped: number; byCustomer?: boolean }) {
    const { renewals, stopped, byCustomer = false } = counts;
    await asReplica(`
      WITH made AS (
        SELECT n, uuidv7() AS session, uuidv7() AS attempt, gen_random_uuid() AS card FROM generate_series(1, ${renewals}) n),
      payments AS (
        INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, agreement_id, renewal_ref, try, method_id, chain_version)
        SELECT session, '${merchantId}', 900, 'EUR', 'c', 'RENEWAL', gen_random_uuid(), 'r', 1, gen_random_uuid(), 1 FROM made),
      attempts AS (
        INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency, status,
          failure_kind, started_at, latest_execution_at, completed_at)
        SELECT session, attempt, 1, '${gateway}', gen_random_uuid(), 1, 1, 'first', 900, 'EUR', 'DECLINED', 'HARD_DECLINE', now(), now(), now() FROM made),
      declines AS (
        INSERT INTO card_decline (merchant_id, fingerprint, attempt_id, declined_at, by_customer)
        SELECT '${merchantId}', card, attempt, now() - interval '1 s', ${byCustomer} FROM made WHERE n <= ${stopped})
      INSERT INTO card_state (merchant_id, fingerprint, stopped_at, stopped_because)
      SELECT '${merchantId}', card, now(), 'lost_or_stolen' FROM made WHERE n <= ${stopped}`);
  }

  it("open an alert for the gateway once they are more than 1 % of a day's", async () => {
    await renew("SANDBOX_A", { renewals: 500, stopped: 5 });
    await renew("SANDBOX_B", { renewals: 499, stopped: 5 });
    await raise();
    expect(await open()).toEqual([
      {
        kind: "RENEWALS_STOPPED",
        gateway: "SANDBOX_B",
        detail:
          "Banks have stopped the cards of 5 of the 499 renewals that SANDBOX_B was asked for in the last 24 hours.",
      },
    ]);
    await asReplica(
      `UPDATE card_state SET stopped_at = NULL, stopped_because = NULL WHERE merchant_id = '${merchantId}'`,
    );
    await raise();
    expect(await open()).toEqual([]);
  });

  it("open none for a few cards, nor for those that customers' own payments have stopped", async () => {
    await renew("SANDBOX_A", { renewals: 4, stopped: 4 });
    await renew("SANDBOX_B", { renewals: 5, stopped: 5, byCustomer: true });
    await raise();
    expect(await open()).toEqual([]);
  });
});

it("alerts to cards that the vault has not erased for an hour, until it has", async () => {
  const erase = (since: string) =>
    owner.query(`INSERT INTO card_erasure (handle_hash, merchant_id, wanted_at, erase_due_at)
      VALUES (sha256(gen_random_uuid()::text::bytea), '${merchantId}', now() - interval '${since}', now())`);
  await erase("59 minutes");
  await raise();
  expect(await open()).toEqual([]);
  await erase("61 minutes");
  await raise();
  expect((await open()).map(({ kind, detail }) => `${kind} ${detail}`)).toEqual([
    "CARDS_NOT_ERASED A deleted or replaced card waits for the vault to erase what it keeps, for an hour or longer.",
  ]);
  await owner.query("DELETE FROM card_erasure");
  await raise();
  expect(await open()).toEqual([]);
});
