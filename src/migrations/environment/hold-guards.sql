-- The rules of a payment that its merchant captures later: what changes once, and in which order. docs/capture-later.md has them as
-- C1 to C7; payment-guards.sql has those that other payments are checked by too.

CREATE FUNCTION partitions.guard_manual_session_rest(before record, after record) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF before.held_at IS NOT NULL AND (after.held_at, after.held_until) IS DISTINCT FROM (before.held_at, before.held_until) THEN
    PERFORM app.refuse('a hold begins once, and its end never moves'); END IF;
  IF before.held_at IS NULL AND after.held_at IS NOT NULL
     AND (after.status <> 'CREATED' OR after.phase <> 'PROCESSING' OR after.winner_attempt_id IS NULL) THEN
    PERFORM app.refuse('only a winner is held'); END IF;
  IF before.held_at IS NOT NULL AND after.winner_attempt_id IS NOT NULL AND before.winner_attempt_id IS NULL AND after.status <> 'SUCCEEDED'
     AND after.capture_asked_at IS NULL THEN
    PERFORM app.refuse('a payment is held once'); END IF;
  IF before.capture_asked_at IS NOT NULL AND after.capture_asked_at IS DISTINCT FROM before.capture_asked_at THEN
    PERFORM app.refuse('an order about a hold is final'); END IF;
  IF before.capture_asked_at IS NULL AND after.capture_asked_at IS NOT NULL
     AND (before.held_at IS NULL OR after.winner_attempt_id IS NULL OR after.status <> 'CREATED') THEN
    PERFORM app.refuse('only a held payment takes an order'); END IF;
  IF after.capture_due_at IS NOT NULL AND before.held_at IS NOT NULL AND after.capture_due_at IS DISTINCT FROM before.capture_due_at THEN
    PERFORM app.refuse('a merchant is reminded once'); END IF;
END $$;
