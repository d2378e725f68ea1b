/** Renewals whose names have the time of their agreement, and whose rows lie in another month. */
import { expect, it } from "vitest";
import { forFile } from "../../../dev/testing/for-file.ts";
import { startRenewals } from "./renewals.fixture.ts";

const fixture = await forFile(startRenewals);

it("a gateway's report finds the renewal of an agreement that began in another month", async () => {
  // Only SANDBOX_B continues it, and reports captures.
  const began = await fixture.agree({ number: "4000000000007338" });
  // The next month, for which there are tables already.
  const now = new Date();
  const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 2)
    .toString(16)
    .padStart(12, "0");
  const time = `${month.slice(0, 8)}-${month.slice(8)}`;
  const agreementId = time + began.slice(13);
  await fixture.base.asOwner.pool.query(
    `SET session_replication_role = replica; UPDATE agreement SET id = '${agreementId}' WHERE id = '${began}'; RESET session_replication_role`,
  );
  await fixture.base.sandbox.hold("b.notification");
  const { payment } = await fixture.charge(agreementId);
  expect(payment.attempts).toMatchObject([{ id: expect.stringContaining(time), gateway: "SANDBOX_B" }]);
  expect(payment.session).toMatchObject({ status: "SUCCEEDED", captureConfirmed: false });
  await fixture.base.sandbox.release({});
  await fixture.settled();
  const { session } = await fixture.base.loadSession(payment.session);
  expect(session).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
});
