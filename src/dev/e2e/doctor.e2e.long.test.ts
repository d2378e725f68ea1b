/** `switchyard doctor` on a running demo: no findings on a sound one, and each of many faults named with its remedy. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { connect, nanos } from "nats";
import { Client } from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { generateKeyFile } from "../../config/server-keys.ts";
import { examine } from "../../doctor/examine.ts";
import { TestAuthority } from "../testing/certificates.ts";
import { forFile } from "../testing/for-file.ts";
import { startTestNats } from "../testing/nats.ts";
import { runCommand } from "../testing/run-command.ts";
import { startTestDemo } from "./demo.fixture.ts";

type Variables = Readonly<Record<string, string | undefined>>;
type Fault = {
  /** Injects the fault; returns other settings if they are the fault. */
  readonly plant: () => Promise<Variables> | Variables;
  readonly mend?: () => Promise<unknown>;
  readonly area: string;
  readonly says: string;
  readonly remedy: string;
};

const roles = ["edge", "worker", "vault"] as const;
// An address without a listener.
const nowhere = "127.0.0.1:1";
const authority = new TestAuthority("doctor");

const demo = await forFile(() => startTestDemo({}, { isDurable: true }));
const variables: Record<string, string> = parseEnv(
  readFileSync(join(demo.stateFolder, "settings.env"), "utf8"),
) as Record<string, string>;
const ownerUrl: string = Object.assign(new URL(demo.postgresUrl), { pathname: "/switchyard_test" }).href;
const owner = await forFile(() => new Client({ connectionString: ownerUrl }), "end");
await owner.connect();
afterAll(() => authority.close());

const sql = (text: string) => owner.query(text);
const after = (planting: Promise<unknown>): Promise<Variables> => planting.then(() => ({}));

async function changeStream(change: object): Promise<void> {
  const { SWITCHYARD_TEST_NATS_USER: user, SWITCHYARD_TEST_NATS_PASSWORD: pass } = variables;
  const connection = await connect({ servers: variables.SWITCHYARD_TEST_NATS_SERVERS!, user: user!, pass: pass! });
  const { streams } = await connection.jetstreamManager();
  await streams.update("PAYMENTS_TEST_V1", change);
  await connection.close();
}

const setClock = (ahead: string) =>
  sql(
    `CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()${ahead}'`,
  );

const faults: Readonly<Record<string, Fault>> = {
  "a wrong password": {
    plant: () => ({
      SWITCHYARD_TEST_DATABASE_URL: variables.SWITCHYARD_TEST_DATABASE_URL!.replace(
        /:[^:@]+@/,
        ":wrong-q8Zr1mVtKx0wLfB7@",
      ),
    }),
    area: "database test",
    says: "refuses the password of switchyard_test",
    remedy: "SWITCHYARD_TEST_DATABASE_URL",
  },
  "the owner as the runtime role": {
    plant: () => ({ SWITCHYARD_TEST_DATABASE_URL: ownerUrl }),
    area: "database test",
    says: "owns the tables",
    remedy: "--runtime-role",
  },
  "a missing migration": {
    plant: () => after(sql("DELETE FROM migration")),
    mend: () => sql("INSERT INTO migration (name) VALUES ('001-baseline')"),
    area: "database test",
    says: "lacks the migration 001-baseline",
    remedy: "switchyard migrate --kind environment",
  },
  "a database of before the baseline": {
    plant: () => after(sql("UPDATE migration SET name = '001-payment'")),
    mend: () => sql("UPDATE migration SET name = '001-baseline'"),
    area: "database test",
    says: "was made before version 0.1.0",
    remedy: "switchyard migrate",
  },
  "a trigger that is gone": {
    plant: () => after(sql("DROP TRIGGER guard_decision ON attempt")),
    mend: () =>
      sql("CREATE TRIGGER guard_decision BEFORE UPDATE ON attempt FOR EACH ROW EXECUTE FUNCTION app.guard_decision()"),
    area: "database test",
    says: "the trigger attempt.guard_decision is missing",
    remedy: "app.audit()",
  },
  "a trigger that is switched off": {
    plant: () => after(sql("ALTER TABLE partitions.payment_session_rest DISABLE TRIGGER guard")),
    mend: () => sql("ALTER TABLE partitions.payment_session_rest ENABLE TRIGGER guard"),
    area: "database test",
    says: "the trigger payment_session.guard is not in force",
    remedy: "app.audit()",
  },
  "commits that do not last": {
    plant: () => after(sql("ALTER DATABASE switchyard_test SET synchronous_commit = off")),
    mend: () => sql("ALTER DATABASE switchyard_test RESET synchronous_commit"),
    area: "database test",
    says: "synchronous_commit off",
    remedy: "SET synchronous_commit = on",
  },
  "a clock that was changed": {
    plant: () => after(setClock(" + interval ''1 hour''")),
    mend: () => setClock(""),
    area: "database test",
    says: "app.clock() is 3600 s off",
    remedy: "CREATE OR REPLACE FUNCTION app.clock()",
  },
  "more connections than there are": {
    plant: () => ({ SWITCHYARD_DATABASE_CONNECTIONS: "200" }),
    area: "database live",
    says: "opens up to 600 connections",
    remedy: "SWITCHYARD_DATABASE_CONNECTIONS",
  },
  "one database for test and live": {
    plant: () => ({ SWITCHYARD_LIVE_DATABASE_URL: variables.SWITCHYARD_TEST_DATABASE_URL }),
    area: "settings",
    says: "SWITCHYARD_LIVE_DATABASE_URL names the database of SWITCHYARD_TEST_DATABASE_URL",
    remedy: "docs/configuration.md",
  },
  "a mistyped variable": {
    plant: () => ({ SWITCHYARD_STREAM_REPLICA: "3" }),
    area: "settings",
    says: "SWITCHYARD_STREAM_REPLICA is no setting; SWITCHYARD_STREAM_REPLICAS may be meant",
    remedy: "docs/configuration.md",
  },
  "a NATS that was stopped": {
    plant: async () => {
      const nats = await startTestNats();
      await nats.stop({ removeData: true });
      return { SWITCHYARD_TEST_NATS_SERVERS: nats.urls.test.servers };
    },
    area: "nats test",
    says: "does not answer",
    remedy: "start nats-server",
  },
  "a wrong NATS password": {
    plant: () => ({ SWITCHYARD_TEST_NATS_PASSWORD: "wrong" }),
    area: "nats test",
    says: "refuses test or its password",
    remedy: "SWITCHYARD_TEST_NATS_PASSWORD",
  },
  "one NATS account for test and live": {
    plant: () => ({
      SWITCHYARD_LIVE_NATS_USER: "test",
      SWITCHYARD_LIVE_NATS_PASSWORD: variables.SWITCHYARD_TEST_NATS_PASSWORD,
    }),
    area: "nats live",
    says: "SWITCHYARD_LIVE_NATS_USER can read and change the stream of test",
    remedy: "a separate account",
  },
  "a stream with another duplicate window": {
    plant: () => {
      // Once a minute it restores the stream by itself.
      process.kill(demo.file.pids.worker!, "SIGSTOP");
      return after(changeStream({ duplicate_window: nanos(1_000) }));
    },
    mend: async () => {
      await changeStream({ duplicate_window: nanos(120_000) });
      process.kill(demo.file.pids.worker!, "SIGCONT");
    },
    area: "nats test",
    says: "duplicate_window of the stream PAYMENTS_TEST_V1 is changed",
    remedy: "a running worker corrects it",
  },
  "the key file of another installation": {
    plant: () => {
      const file = join(demo.stateFolder, "other-keys.json");
      writeFileSync(file, generateKeyFile("test"), { mode: 0o600 });
      return { SWITCHYARD_TEST_KEYS_FILE: file };
    },
    area: "keys test",
    says: "credentials of gateways do not open with sealing-test-1",
    remedy: "the key file that this database was used with",
  },
  "an expired certificate": {
    plant: () => {
      const { certFile, keyFile } = authority.issue("grpc", { isOver: true });
      return { SWITCHYARD_GRPC_TLS_CERT_FILE: certFile, SWITCHYARD_GRPC_TLS_KEY_FILE: keyFile };
    },
    area: "certificates",
    says: "the certificate of SWITCHYARD_GRPC_TLS_CERT_FILE has expired",
    remedy: "renew it",
  },
  "a vault that is not there": {
    plant: () => ({ SWITCHYARD_VAULT_GRPC_ADDRESS: nowhere }),
    area: "origins",
    says: "the vault's port for the roles does not answer",
    remedy: "start the vault",
  },
  "a mail server that is not there": {
    plant: () => ({ SWITCHYARD_SMTP_URL: `smtp://${nowhere}`, SWITCHYARD_SMTP_FROM: "pay@shop.example" }),
    area: "mail",
    says: "refuses the connection or the login",
    remedy: "SWITCHYARD_SMTP_URL",
  },
  "a disabled endpoint": {
    plant: async () => {
      await sql(
        "UPDATE endpoint SET status = 'DISABLED', disabled_at = app.clock(), disabled_reason = 'FAILING' WHERE status = 'ENABLED'",
      );
      return {};
    },
    mend: () =>
      sql(
        "UPDATE endpoint SET status = 'ENABLED', disabled_at = NULL, disabled_reason = NULL WHERE status = 'DISABLED'",
      ),
    area: "webhooks test",
    says: "is disabled, because it failed for days",
    remedy: 'switchyard rpc WebhookEndpointService/EnableWebhookEndpoint \'{"endpointId": "we_',
  },
  "an outbox that is not emptied": {
    plant: async () => {
      await sql(`WITH session AS (
          INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
          SELECT '01990000-0000-7000-8000-000000000001', merchant_id, 4900, 'EUR', 'backlog', 1, app.clock() + interval '1 hour'
          FROM endpoint LIMIT 1 RETURNING id, merchant_id
        ), todo AS (
          INSERT INTO event_todo (session_id, sequence, created_at, due_at, fanned_out)
          SELECT id, 1, app.clock() - interval '1 hour', app.clock() + interval '1 hour', true FROM session)
        INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
        SELECT id, id, 1, 'payment_session.pending', merchant_id, '', app.clock() - interval '1 hour' FROM session`);
      return {};
    },
    area: "webhooks test",
    says: "1 events wait in the outbox for JetStream, the oldest for 360",
    remedy: "start a worker",
  },
};

describe("switchyard doctor", () => {
  it("finds nothing wrong with a running demo", async () => {
    const findings = await examine({ roles, variables, stateFolder: demo.stateFolder });
    expect(findings.filter(({ state }) => state !== "OK")).toEqual([]);
    expect(findings.length).toBeGreaterThan(40);
  });

  it("finds the demo's settings by its folder, and ends with 0", async () => {
    const { code, out } = await runCommand(["doctor", "--demo", demo.stateFolder, "--role", roles.join()]);
    expect([code, out]).toEqual([0, expect.stringMatching(/Everything is in order \(\d\d checks\)\.\n$/)]);
  });

  it("ends with 2 and names what is wrong in JSON, however broken the settings are", async () => {
    const file = join(demo.stateFolder, "broken.env");
    writeFileSync(file, "SWITCHYARD_TEST_DATABASE_URL=none\nSWITCHYARD_TEST_KEYS_FILE=/nowhere\n");
    const { code, out } = await runCommand(["doctor", "--settings", file, "--json"]);
    const answer = JSON.parse(out);
    expect([code, answer.problems > 5]).toEqual([2, true]);
    expect(answer.findings[0]).toMatchObject({
      state: "PROBLEM",
      area: "settings",
      remedy: expect.stringContaining("docs/"),
    });
  });

  it.for(Object.entries(faults))("names %s, with what to do", async ([, { plant, mend, area, says, remedy }]) => {
    const changed = await plant();
    const examined = examine({ roles, variables: { ...variables, ...changed }, stateFolder: demo.stateFolder });
    const findings = await examined.finally(() => mend?.());
    const wrong = findings.filter(({ state }) => state !== "OK");
    expect(wrong).toContainEqual(
      expect.objectContaining({ area, says: expect.stringContaining(says), remedy: expect.stringContaining(remedy) }),
    );
  });
});
