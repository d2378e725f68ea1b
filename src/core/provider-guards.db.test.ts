/** Tests what the database refuses of a provider's authentication. The titles name the rules of docs/safety.md. */
import { v7 } from "uuid";
import { describe, it } from "vitest";
import { connectToPaymentDatabase, opening, refused, submitted } from "./payment-rows.fixture.ts";

const client = await connectToPaymentDatabase();
const whole = (...statements: string[]) => `BEGIN; ${statements.join("; ")}; COMMIT`;

const provided = (id: string, sequence: number) =>
  `INSERT INTO authentication (session_id, id, sequence, connection_id, because, flow, status, provider,
     credential_version, holds_only_when_asked, action_life_ms, deadline_at)
   VALUES ($session, '${id}', ${sequence}, '${v7()}', 'b', 'FRICTIONLESS', 'PREPARING', 'SANDBOX_3DS', 1, true, 0,
     now() + interval '10 min')`;
const own = "WHERE session_id = $session";
const waits = (count: number) =>
  `UPDATE payment_session SET awaiting_since = now(), authentications = ${count} WHERE id = $session`;
const notWaiting = "UPDATE payment_session SET awaiting_since = NULL WHERE id = $session";
const requested = `UPDATE authentication SET status = 'REQUESTING' ${own}`;
const endedAs = (status: string, more = "") =>
  `UPDATE authentication SET status = '${status}', completed_at = now()${more} ${own}`;
const granted = endedAs("AUTHENTICATED", ", trans_status = 'Y', eci = '05', proof_sealed = 'x'");
const withProof = (attempt: string, authentication: string) =>
  opening(`'${attempt}'`, 2)
    .replace("latest_execution_at)", "latest_execution_at, authentication_id)")
    .replace("interval '1 h')", `interval '1 h', '${authentication}')`);

/** A session after a decline, of which a provider is asked. */
async function asked(id: string = v7()) {
  const run = await submitted(client, "DECLINED");
  await run(whole(provided(id, 1), waits(1)));
  return run;
}

/** A session whose customer a provider has authenticated. */
async function authenticated(id?: string) {
  const run = await asked(id);
  await run(requested);
  await run(whole(granted, notWaiting));
  return run;
}

describe("a provider's authentication", () => {
  it("runs while no attempt does", async () => {
    const beside = await submitted(client, "AUTHORIZING");
    await refused(client, beside, `${provided(v7(), 1)}; ${waits(1)}`, /no authentication beside an attempt/);
    const run = await asked();
    await refused(client, run, opening(`'${v7()}'`, 2), /no attempt beside an authentication/);
  });

  it("A8: happens once, and offers one challenge", async () => {
    const run = await authenticated();
    await refused(client, run, `${provided(v7(), 2)}; ${waits(2)}`, /a provider authenticates once/);
  });

  it("A13: is requested after its preparation, and never goes back", async () => {
    const run = await asked();
    await refused(client, run, endedAs("AUTHENTICATED"), /illegal authentication transition PREPARING/);
    await run(requested);
    await refused(client, run, `UPDATE authentication SET status = 'PREPARING' ${own}`, /illegal .* to PREPARING/);
  });

  it("A6: is followed by no attempt once it has failed", async () => {
    const run = await asked();
    await run(requested);
    await run(whole(endedAs("REJECTED"), notWaiting));
    await refused(client, run, opening(`'${v7()}'`, 2), /nothing follows a failed authentication/);
  });

  it("never changes after its end", async () => {
    const run = await authenticated();
    await refused(client, run, `UPDATE authentication SET eci = '06' ${own}`, /a final authentication never changes/);
  });
});

describe("a proof", () => {
  it("A9: goes with attempts of its own session only", async () => {
    const [id, other] = [v7(), v7()];
    const run = await authenticated(id);
    await authenticated(other);
    await refused(client, run, withProof(v7(), other), /a gateway gets the proof of this session/);
    await run(withProof(v7(), id));
  });

  it("A9: is of an authenticated customer", async () => {
    const run = await asked();
    await run(requested);
    const kept = endedAs("FAILED", ", proof_sealed = 'x'");
    await refused(client, run, `${kept}; ${notWaiting}`, /a proof is of an authenticated customer/);
  });

  it("A9: is gone when the session ends", async () => {
    const run = await authenticated();
    const end = `UPDATE payment_session SET status = 'DECLINED', decline_code = 'x', settled_at = now(),
      vault_token = NULL WHERE id = $session`;
    await refused(client, run, end, /proof/);
    await run(whole(`UPDATE authentication SET proof_sealed = NULL ${own}`, end));
    await refused(client, run, `UPDATE authentication SET proof_sealed = 'x' ${own}`, /lives no longer than the payment/);
  });
});
