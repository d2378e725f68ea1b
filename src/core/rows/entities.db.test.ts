import type { EntitySchema } from "@mikro-orm/core";
import { MikroORM } from "@mikro-orm/core";
import { PostgreSqlDriver } from "@mikro-orm/postgresql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../dev/testing/postgres.ts";
import { columnName } from "../../platform/columns.ts";
import { DisputeEntity } from "./disputes.ts";
import { AttemptEntity, AuthenticationEntity, PaymentSessionEntity, RoutingRuleEntity } from "./entities.ts";

const entities = [PaymentSessionEntity, AttemptEntity, AuthenticationEntity, DisputeEntity, RoutingRuleEntity];

let database: TestDatabase;
let orm: MikroORM;
beforeAll(async () => {
  database = await createTestDatabase("environment");
  orm = await MikroORM.init({ driver: PostgreSqlDriver, clientUrl: database.url, entities });
});
afterAll(async () => {
  await orm.close(true);
  await database.drop();
});

type Column = { column_name: string; udt_name: string; is_nullable: string };

describe("the entities", () => {
  it.each(entities.map((entity) => [entity.meta.tableName, entity as EntitySchema]))(
    "name exactly the columns of %s, with their types and nulls",
    async (table) => {
      const columns: Column[] = await orm.em
        .getConnection()
        .execute(
          `SELECT column_name, udt_name, is_nullable FROM information_schema.columns WHERE table_name = '${table}'`,
        );
      const meta = [...orm.getMetadata().getAll().values()].find(({ tableName }) => tableName === table)!;
      const fromEntity = Object.values(meta.properties).map((property) => ({
        column: columnName(property.name),
        type: property.columnTypes[0],
        nullable: Boolean(property.nullable),
      }));
      const ofEntity = columns.filter((column) => !stamped.has(`${table}.${column.column_name}`));
      const fromTable = ofEntity.map((column) => ({
        column: column.column_name,
        type: typeNames[column.udt_name] ?? column.udt_name,
        // A generated column is never null, for reasons that the entity does not state.
        nullable: column.is_nullable === "YES" && !generated.has(`${table}.${column.column_name}`),
      }));
      const byColumn = (left: { column: string }, right: { column: string }) => left.column.localeCompare(right.column);
      expect(fromEntity.toSorted(byColumn)).toEqual(fromTable.toSorted(byColumn));
    },
  );
});

const generated = new Set(["attempt.holds", "attempt.captured"]);
// A trigger writes these, and only the statements of recovery read them: the flow does not depend on them.
const stamped = new Set(["attempt.changed_at", "attempt.voiding_at"]);
// `claim` writes these, and only statements about card testing read them.
for (const column of ["card_fingerprint", "customer_network"]) stamped.add(`payment_session.${column}`);
// For a foreign key, and for a unique index.
for (const name of ["captured", "is_warning"]) stamped.add(`dispute.${name}`);
// For the erasure of what is sealed.
stamped.add("dispute.erase_at_end");
// The times of an earlier failure and of the capture that stands since are for the ledger.
for (const name of ["capture_failed_before_at", "capture_stands_at"]) stamped.add(`attempt.${name}`);
// The reason and the names of a decision are for people: the flow uses the decision, its reference and its
// confirmation.
for (const name of ["decision_reason", "decided_by", "decided_at", "decision_takes_two", "decision_confirmed_by"]) {
  stamped.add(`attempt.${name}`);
}
// Sealed values are loaded where they are opened.
stamped.add("payment_session.browser_sealed");
for (const name of [
  "action_sealed",
  "keep_sealed",
  "message_sealed",
  "proof_sealed",
  "returned_sealed",
  "ticket_hash",
]) {
  stamped.add(`authentication.${name}`);
}
const typeNames: Record<string, string> = {
  int2: "smallint",
  int4: "int",
  int8: "bigint",
  bool: "boolean",
  _uuid: "uuid[]",
  _text: "text[]",
};
