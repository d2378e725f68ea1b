/**
 * A gateway may name a hold otherwise than the request that made it: PayPal calls an order by one name and the money that
 * it authorized by another, which is only learnt by a look-up where the answer was lost.
 */

export const name = "012-named-by-look-up";

export const sql = `
DO $migration$
DECLARE
  before text := pg_get_functiondef('app.guard_attempt'::regproc);
  after  text := replace(before,
    $old$IF OLD.gateway_reference IS NOT NULL AND NEW.gateway_reference$old$,
    $new$IF OLD.gateway_reference IS NOT NULL AND (OLD.status, NEW.status) <> ('UNKNOWN', 'AUTHORIZED') AND NEW.gateway_reference$new$);
BEGIN
  IF after = before THEN RAISE EXCEPTION 'app.guard_attempt is not as migration 001 made it'; END IF;
  EXECUTE after;
END $migration$;
`;
