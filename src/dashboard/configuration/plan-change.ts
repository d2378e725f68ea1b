/** A change of a plan. */
import { type DescMessage, type MessageInitShape, type MessageShape, toJsonString } from "@bufbuild/protobuf";
import {
  type ConfigurationChangeSchema,
  ConfigurationChange_Kind as Kind,
} from "../../../gen/dashboard/v1/configuration_pb.ts";

export type Change = MessageInitShape<typeof ConfigurationChangeSchema> & { readonly path: string };

export function changeOf<Schema extends DescMessage>(
  path: string,
  schema: Schema,
  { now, wanted }: { now?: MessageShape<Schema> | undefined; wanted?: MessageShape<Schema> | undefined },
) {
  const kind = now === undefined ? Kind.ADDED : wanted === undefined ? Kind.REMOVED : Kind.CHANGED;
  return {
    path,
    kind,
    before: now === undefined ? "" : toJsonString(schema, now),
    after: wanted === undefined ? "" : toJsonString(schema, wanted),
  };
}

/** Returns the change of a value that is not a message; none if it stays. */
export function valueChange(
  path: string,
  [before, after]: readonly [unknown, unknown],
  change: Pick<Change, "sentences" | "removes" | "subject">,
): Change[] {
  const json = { before: JSON.stringify(before), after: JSON.stringify(after) };
  return json.before === json.after ? [] : [{ path, kind: Kind.CHANGED, ...json, ...change }];
}
