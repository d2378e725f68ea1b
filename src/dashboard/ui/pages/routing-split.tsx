/** The split of a plan: the share of its payments that follows another plan, and that plan. */
import { useId } from "react";
import { Field } from "../parts/field.tsx";
import { Switch } from "../parts/switch.tsx";
import type { SplitContent } from "./routing-case-draft.ts";
import { ConnectionOrder, type Connections } from "./routing-order.tsx";

type SplitProps = {
  split: SplitContent | undefined;
  connectionIds: readonly string[];
  connections: Connections;
  mayChange: boolean;
  onChange: (split: SplitContent | undefined) => void;
};

const share = (text: string) => (/^[1-9]\d?$/.test(text) ? null : "A whole number from 1 to 99.");

export function RoutingSplit({ split, connectionIds, connections, mayChange, onChange }: SplitProps) {
  const id = useId();
  return (
    <>
      <Switch
        name="Split payments"
        detail="A share of the payments, chosen at random, follows another plan. Analytics compares the two."
        isOn={split !== undefined}
        isDisabled={!mayChange}
        onChange={(isOn) => onChange(isOn ? { percent: 10, connectionIds: [...connectionIds] } : undefined)}
      />
      {split && (
        <section className="arm" aria-labelledby={id}>
          <h4 id={id}>Variant B</h4>
          <Field
            label="Share of variant B in percent"
            inputMode="numeric"
            maxLength={2}
            defaultValue={String(split.percent)}
            hint="The other payments are variant A, which follows the gateways above."
            isReadOnly={!mayChange}
            validate={share}
            onChange={(text) => onChange({ ...split, percent: share(text) === null ? Number(text) : 0 })}
          />
          <ConnectionOrder
            labelledBy={id}
            connectionIds={split.connectionIds}
            connections={connections}
            mayChange={mayChange}
            onChange={(ids) => onChange({ ...split, connectionIds: ids })}
          />
        </section>
      )}
    </>
  );
}
