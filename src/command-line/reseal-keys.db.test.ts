import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, expect, it } from "vitest";
import { recordSettings } from "../accounts/merchant-settings.ts";
import { type RotationStep, rotateSealing } from "../config/server-key-rotation.ts";
import { generateKeyFile, parseKeyFile } from "../config/server-keys.ts";
import { handleAssociatedData, tokenAssociatedData } from "../core/stored-cards/claim-stored.ts";
import { loopback } from "../dev/testing/events/events-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { runCommandHere as run } from "../dev/testing/run-command-here.ts";
import { createStrictLog } from "../dev/testing/strict-log.ts";
import { loadAlertChat, recordAlertChat } from "../events/alert-settings.ts";
import { rotateSecret } from "../events/change-endpoint.ts";
import { Egress } from "../events/egress.ts";
import { registerEndpoint } from "../events/endpoints.ts";
import { openSigningSecrets } from "../events/signing-secrets.ts";
import { dropCredentials, loadCredentials, recordConnection, stageCredentials } from "../gateways/connections.ts";
import { Database } from "../platform/database.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { seal, sha256, unseal } from "../platform/secrets.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-reseal-"));
const file = join(folder, "keys.json");
const merchantId = systemRuntime.uuid();
const connectionId = systemRuntime.uuid();

const testDatabase = await forFile(() => createTestDatabase("environment"), "drop");
const pool = await forFile(() => new Pool({ connectionString: testDatabase.url, max: 2, pipeline: true }), "end");
const database = new Database(pool);
writeFileSync(file, generateKeyFile("test"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ring = () => parseKeyFile(readFileSync(file, "utf8"), "test").sealing;
const rotate = (step: RotationStep) =>
  writeFileSync(file, JSON.stringify(rotateSealing(JSON.parse(readFileSync(file, "utf8")), step)));
const reseal = () =>
  run([
    ...["server-keys", "reseal", "--environment", "test", "--keys", file],
    ...["--url", testDatabase.ownerUrl, "--json"],
  ]);

const stage = (credentials: Record<string, string>) =>
  database.transaction((tx) => stageCredentials(tx, ring(), { connectionId, credentials }));
const credentialsOf = (credentialVersion: number) =>
  loadCredentials(database, ring(), { connectionId, credentialVersion });

it("leaves nothing that only the dropped key could open, and keeps every secret", async () => {
  const context = {
    database,
    runtime: systemRuntime,
    egress: new Egress(loopback),
    environmentName: "test",
    log: createStrictLog(),
    sealing: ring(),
    signingSecretPrefix: "switchyard_test_whsec_",
  };
  await database.transaction((tx) =>
    recordConnection(tx, { id: connectionId, merchantId, gateway: "SANDBOX_A", account: "one" }),
  );
  const [first, second] = [await stage({ apiKey: "one" }), await stage({ apiKey: "two" })];
  const third = await stage({ apiKey: "refused" });
  await dropCredentials(database, { connectionId, credentialVersion: third });
  const wanted = { merchantId, url: "http://127.0.0.1:9/", eventTypes: [] };
  const { endpoint, signingSecret } = await registerEndpoint(context, wanted);
  const key = { merchantId, endpointId: endpoint.id };
  const rotated = await database.transaction((tx) =>
    rotateSecret(tx, context, key, { version: undefined, overlapHours: 24 }),
  );
  const secrets = [rotated.signingSecret, signingSecret].map((secret) => secret.expose());

  await database.transaction(async (tx) => {
    const settings = { sessionLifetimeMs: 1_800_000, checkoutOrigins: [], statementDescriptor: null };
    await recordSettings(tx, { merchantId, publishableKey: "switchyard_test_pk_x", ...settings });
    await recordAlertChat(tx, context, { merchantId, url: "http://127.0.0.1:9/chat" });
  });

  // As its saving would have left it.
  const handleHash = sha256("vc_1");
  const place = handleAssociatedData(merchantId, handleHash);
  const owner = new Pool({ connectionString: testDatabase.ownerUrl, max: 1 });
  await owner.query("ALTER TABLE payment_method DISABLE TRIGGER USER");
  await owner.query(
    `INSERT INTO payment_method (id, merchant_id, customer_ref, brand, last4, exp_month, exp_year, fingerprint, handle_sealed, handle_hash, session_id)
     VALUES (gen_random_uuid(), $1, 'customer-1', 'visa', '4242', 4, 2031, gen_random_uuid(), $2, $3, gen_random_uuid())`,
    [merchantId, seal(ring(), place, "vc_1"), handleHash],
  );
  await owner.query("ALTER TABLE payment_method ENABLE TRIGGER USER");
  // Of a payment that has just been submitted.
  const savingId = systemRuntime.uuid();
  const savingHash = sha256("vc_2");
  const savingPlace = handleAssociatedData(merchantId, savingHash);
  await owner.query("SET session_replication_role = replica");
  await owner.query(
    `INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, consent_template, consent_locale, consented_at, saving,
       token_sealed, handle_sealed, handle_hash, save_due_at)
     VALUES ($1, $2, 100, 'EUR', 'customer-1', 'SAVE', 't', 'en', now(), 'REQUESTED', $3, $4, $5, now())`,
    [
      savingId,
      merchantId,
      seal(ring(), tokenAssociatedData(savingId), "tok_1"),
      seal(ring(), savingPlace, "vc_2"),
      savingHash,
    ],
  );
  await owner.end();

  rotate("add");
  rotate("use");
  // Rows that the new key has sealed stay unchanged.
  const fourth = await stage({ apiKey: "three" });
  expect(JSON.parse((await reseal()).out)).toEqual({
    credentials: 2,
    endpoints: 1,
    chats: 1,
    identities: 0,
    cards: 2,
    disputes: 0,
  });
  rotate("drop");
  expect(Object.keys(ring().keys)).toEqual(["sealing-test-2"]);

  const opened = await Promise.all([first, second, fourth].map(credentialsOf));
  expect(opened.map((credentials) => credentials.apiKey?.expose())).toEqual(["one", "two", "three"]);
  const { rows } = await pool.query(
    'SELECT secret_sealed AS "secretSealed", previous_sealed AS "previousSealed" FROM endpoint',
  );
  const found = openSigningSecrets({ sealing: ring(), environmentName: "test" }, endpoint.id, rows[0]);
  expect(found.map((secret) => secret.expose())).toEqual(secrets);
  const chat = await loadAlertChat(database, { sealing: ring(), environmentName: "test" }, merchantId);
  expect(chat?.url.expose()).toBe("http://127.0.0.1:9/chat");
  const [method] = (await pool.query("SELECT handle_sealed AS sealed FROM payment_method")).rows;
  expect(unseal(ring(), place, method.sealed).expose()).toBe("vc_1");
  const [saving] = (await pool.query("SELECT handle_sealed AS handle, token_sealed AS token FROM stored_payment")).rows;
  expect(unseal(ring(), savingPlace, saving.handle).expose()).toBe("vc_2");
  expect(unseal(ring(), tokenAssociatedData(savingId), saving.token).expose()).toBe("tok_1");
});
