/** Tests what the database refuses about payments by a link: S3, S4 and S9 of docs/subscriptions.md. */
import type { Client } from "pg";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { opening, refused as refusedBy } from "./payment-rows.fixture.ts";
import { type AgreementRow, agreementOf, connectForRenewals, decline, taken } from "./renewal-rows.fixture.ts";

const { owner, service, one } = await connectForRenewals();
const refused = (client: Client, sql: string, reason: string) =>
  refusedBy((text) => client.query(text), sql, new RegExp(reason));

type Link = { readonly agreement: AgreementRow; readonly id: string; readonly session: string };

/** Makes the link of a renewal and opens it. */
async function linkTo(agreement: AgreementRow): Promise<Link> {
  const { id: of, merchant } = agreement;
  const [id, session] = [v7(), v7()];
  await service.query(
    `SELECT FROM app.make_link('${id}', '${merchant}', '${of}', 'r1', 900, 'EUR', 'order', NULL, 3600000)`,
  );
  await owner.query(`INSERT INTO merchant_settings (merchant_id, session_lifetime_ms, publishable_key) VALUES ('${merchant}', 1800000, 'pk')
    ON CONFLICT DO NOTHING`);
  const { rows } = await service.query(`SELECT id FROM app.open_link('${session}', '${id}', 1, NULL, 8)`);
  expect(rows).toEqual([{ id: session }]);
  return { agreement, id, session };
}

const take = ({ session }: Link) => `SELECT FROM app.take_recovery('${session}', 8)`;
const attemptOf = ({ session }: Link, connection: string) =>
  `(SELECT app.attempt_name(named_by, '${connection}', 0) FROM payment_session WHERE id = '${session}')`;

/** Submits a link's session by hand, with consent. */
async function submit({ session }: Link): Promise<void> {
  await owner.query(`UPDATE payment_session SET phase = 'PROCESSING', lease_epoch = 1, lease_until = now(), submit_deadline = now() + interval '45 s',
    submitted_at = now() WHERE id = '${session}'`);
  await owner.query(
    `UPDATE stored_payment SET consent_template = 't', consent_locale = 'en', consented_at = now() WHERE session_id = '${session}'`,
  );
}

/** Opens the attempt of a submitted session, by its name or another one. */
function attempting(link: Link, id = attemptOf(link, link.agreement.ownConnection)): string {
  const name = v7();
  const insert = opening(1, { id: name, amount: 900, connection: link.agreement.ownConnection });
  return insert.replace(`'${name}'`, id).replaceAll("$session", `'${link.session}'`);
}

describe("S3: the session of a link", () => {
  it("makes no attempt before it has the renewal, and one by its name then", async () => {
    const link = await linkTo(await agreementOf(owner));
    await submit(link);
    await refused(owner, attempting(link), "the renewal is another session's");
    await owner.query(take(link));
    await refused(owner, attempting(link, `'${v7()}'`), "an attempt of a renewal has its name");
    await owner.query(attempting(link));
  });

  it("does not get a renewal that another session has, or has paid", async () => {
    const agreement = await agreementOf(owner);
    const link = await linkTo(agreement);
    const other = await taken(service, agreement);
    await refused(service, take(link), "in_progress");
    await decline(owner, other);
    await service.query(take(link));
    await refused(service, take(link), "in_progress");
    expect(
      await one(`SELECT session_id AS session, tries FROM renewal WHERE agreement_id = '${agreement.id}'`),
    ).toEqual({
      session: link.session,
      tries: 2,
    });
  });

  it("is the one that is shown", async () => {
    const link = await linkTo(await agreementOf(owner));
    await owner.query(`UPDATE recovery_link SET session_id = NULL WHERE id = '${link.id}'`);
    await refused(service, take(link), "changed");
  });
});

describe("a payment by a link", () => {
  const copy = (link: Link, change: { minor?: number; named?: string; text?: string; nth?: number }) => {
    const { minor = 900, named = "named_by", text = "terms", nth = 1 } = change;
    const session = v7();
    return `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at, customer_ref, stored, named_by)
        SELECT '${session}', merchant_id, ${minor}, currency, order_ref, 1, expires_at, customer_ref, true, ${named} FROM payment_session WHERE id = '${link.session}';
      INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, terms, agreement_id, renewal_ref, try)
        SELECT '${session}', merchant_id, ${minor}, currency, customer_ref, role, ${text}, agreement_id, renewal_ref, ${nth} FROM stored_payment WHERE session_id = '${link.session}'`;
  };

  it("asks for the link's amount, by the agreement's text, under the names of its try", async () => {
    const link = await linkTo(await agreementOf(owner));
    const asks = "a link asks for its own amount, by the text of its agreement";
    const names = "a renewal has the names of its try";
    await refused(owner, copy(link, { minor: 901 }), asks);
    await refused(owner, copy(link, { text: `'{"text":"Each day"}'` }), asks);
    await refused(owner, copy(link, { named: "NULL" }), names);
    await refused(owner, copy(link, { nth: 2 }), names);
    await owner.query(copy(link, {}));
  });

  it("is for what the link was made for, and counts on", async () => {
    const { id } = await linkTo(await agreementOf(owner));
    const fixed = "what a link asks for never changes";
    for (const change of ["amount_minor = 901", "currency = 'USD'", "order_ref = 'o'", `id = '${v7()}'`])
      await refused(owner, `UPDATE recovery_link SET ${change} WHERE id = '${id}'`, fixed);
    for (const change of ["version = 0", "tries = 2", "tries = -1"])
      await refused(
        owner,
        `UPDATE recovery_link SET ${change} WHERE id = '${id}'`,
        "a link counts its versions and tries",
      );
  });
});
