/** Checks the stored cards: that the vault has them, that each saving continues, and that deleted ones are erased. */
import type { Queryable } from "../platform/database.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

// A saving is repeated every ten seconds, and ends with the card's 15 minutes.
const selectStored = {
  name: "examine_stored_cards",
  text: `
    SELECT count(*)::int AS cards, count(*) FILTER (WHERE stopped_because = 'card_lost')::int AS lost,
      (SELECT count(*)::int FROM stored_payment WHERE saving = 'REQUESTED' AND save_due_at < (SELECT app.clock()) - interval '5 minutes') AS stuck,
      (SELECT count(*)::int FROM card_erasure WHERE wanted_at < (SELECT app.clock()) - interval '1 hour') AS unerased
    FROM payment_method WHERE status = 'ACTIVE'`,
};

/** Returns findings on an environment's stored cards; none if no card was ever stored. */
export async function examineStoredCards(environment: "test" | "live", database: Queryable): Promise<Finding[]> {
  type Row = { cards: number; lost: number; stuck: number; unerased: number };
  const [row] = await database.query<Row>(selectStored, []);
  const { cards = 0, lost = 0, stuck = 0, unerased = 0 } = row ?? {};
  const area = `stored cards ${environment}`;
  const found = [
    ...(lost === 0
      ? []
      : [
          problem(
            area,
            `the vault has lost ${lost} of ${cards} stored card(s): their agreements cannot be charged`,
            "if the vault's database was restored or replaced, restore it from its newest backup; otherwise customers enter these cards again (docs/incidents.md)",
          ),
        ]),
    ...(stuck === 0
      ? []
      : [
          problem(
            area,
            `${stuck} card(s) of approved payments wait for more than five minutes to be stored, and are lost after fifteen`,
            "start a worker; if one runs, its log says why the vault does not store them",
          ),
        ]),
    ...(unerased === 0
      ? []
      : [
          warning(
            area,
            `${unerased} deleted or replaced card(s) wait for more than an hour for the vault to erase them`,
            "a worker asks the vault again until it answers: its log says why it does not",
          ),
        ]),
  ];
  if (found.length > 0 || cards === 0) return found;
  return [ok(area, `the vault has lost none of ${cards} stored card(s), and no saving or erasure waits`)];
}
