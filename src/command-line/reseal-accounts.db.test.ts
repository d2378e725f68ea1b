import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TOTP } from "otpauth";
import { Pool } from "pg";
import { afterAll, expect, it } from "vitest";
import { findApproval, insertApproval } from "../accounts/approvals.ts";
import { insertMember } from "../accounts/members.ts";
import { createMerchant } from "../accounts/merchants.ts";
import { hashPassword } from "../accounts/passwords.ts";
import { associatedDataOf } from "../accounts/reseal-approvals.ts";
import { confirmTotp, keepTotpOffer, offerTotp, stepOfCode } from "../accounts/totp.ts";
import { generateAccountsKeyFile, parseAccountsKeyFile } from "../config/dashboard-settings.ts";
import { type RotationStep, rotateAccountsSealing } from "../config/server-key-rotation.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { runCommand } from "../dev/testing/run-command.ts";
import { runCommandHere } from "../dev/testing/run-command-here.ts";
import { Database } from "../platform/database.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { Secret, seal, unseal } from "../platform/secrets.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-reseal-accounts-"));
const file = join(folder, "keys-accounts.json");

const testDatabase = await forFile(() => createTestDatabase("accounts"), "drop");
const accounts = new Database(new Pool({ connectionString: testDatabase.url, max: 2, pipeline: true }));
writeFileSync(file, generateAccountsKeyFile(), { mode: 0o600 });
afterAll(async () => {
  await accounts.pool.end();
  rmSync(folder, { recursive: true, force: true });
});

const context = () => ({
  accounts,
  runtime: systemRuntime,
  sealing: parseAccountsKeyFile(readFileSync(file, "utf8")),
});
const rotate = (step: RotationStep) =>
  writeFileSync(file, JSON.stringify(rotateAccountsSealing(JSON.parse(readFileSync(file, "utf8")), step)));

async function offered(name: string): Promise<{ memberId: string; code: () => string }> {
  const member = { id: systemRuntime.uuid(), name, email: `${name}@example.com` };
  await insertMember(accounts, member, await hashPassword(new Secret("correct horse battery")));
  const { text, sealed } = offerTotp(context(), { memberId: member.id, email: member.email, issuer: "test" });
  await keepTotpOffer(accounts, member.id, sealed);
  return { memberId: member.id, code: () => new TOTP({ secret: text.expose() }).generate() };
}

/** Stores a call that waits for a second person, sealed by the first key. */
async function storeCall(requestedBy: string) {
  const { keys } = context().sealing;
  const merchant = { id: systemRuntime.uuid(), name: "Corner Coffee" };
  await createMerchant(accounts, merchant);
  const named = { id: systemRuntime.uuid(), merchantId: merchant.id, method: "a/b" };
  const sealedRequest = seal({ current: "sealing-accounts-1", keys }, associatedDataOf(named), "bytes");
  const call = { ...named, cell: 1, role: "OWNER", revision: "r", sentences: ["A change."], requestedBy } as const;
  await accounts.transaction((tx) => insertApproval(tx, { ...call, sealedRequest }));
  return { ...named, open: (sealed: string) => unseal(context().sealing, associatedDataOf(named), sealed).expose() };
}

it("keeps every app and waiting call, and leaves nothing that only the dropped key could open", async () => {
  const [ada, bob] = [await offered("ada"), await offered("bob")];
  expect(await confirmTotp(context(), { memberId: ada.memberId, code: ada.code() })).toBe(1);
  expect(() => rotate("use")).toThrow("add one first");
  const add = ["rotate", "--key", "accounts-sealing", "--step", "add", "--accounts-keys", file];
  expect(await runCommandHere(["server-keys", ...add])).toMatchObject({ code: 0 });
  rotate("use");
  // The apps are accepted also before they are sealed again.
  expect(await confirmTotp(context(), { memberId: bob.memberId, code: bob.code() })).toBe(1);
  const carl = await offered("carl");
  const call = await storeCall(ada.memberId);
  const url = ["--url", testDatabase.ownerUrl];
  const resealed = await runCommand(["server-keys", "reseal-accounts", "--accounts-keys", file, ...url, "--json"]);
  expect(JSON.parse(resealed.out)).toEqual({ members: 2, approvals: 1 });
  rotate("drop");
  expect(Object.keys(context().sealing.keys)).toEqual(["sealing-accounts-2"]);
  for (const { memberId, code } of [ada, bob]) {
    const text = `SELECT totp_sealed AS sealed FROM member WHERE id = $1`;
    const [row] = await accounts.query<{ sealed: string }>({ name: "sealed", text }, [memberId]);
    expect(stepOfCode(context(), { memberId, sealed: row!.sealed, code: code() })).toBeDefined();
  }
  expect(await confirmTotp(context(), { memberId: carl.memberId, code: carl.code() })).toBe(1);
  const waiting = await findApproval(accounts, call.merchantId, call.id);
  expect(call.open(waiting!.sealedRequest!)).toBe("bytes");
});
