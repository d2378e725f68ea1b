/** The cases of a routing rule: put in order by drag, keyboard or labelled buttons, added, edited and removed. */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { RoutingRule_Authentication as Authentication } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { Button } from "../parts/button.tsx";
import { MoveButtons } from "../parts/move-buttons.tsx";
import { formatWholePercent } from "../parts/numbers.ts";
import { OrderList } from "../parts/order-list.tsx";
import { reordered } from "../parts/reorder.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { useScope } from "../scope.ts";
import {
  type CaseContent,
  type CasesContent,
  type Currencies,
  noCases,
  noConditions,
  rangesIn,
  type SplitContent,
  splitsBelow,
  textOfRanges,
  wordsOf,
} from "./routing-case-draft.ts";
import { RoutingCaseForm } from "./routing-case-form.tsx";
import type { RuleDraft } from "./routing-draft.ts";
import { type Connections, namesOf } from "./routing-order.tsx";

type CasesProps = { draft: RuleDraft; connections: Connections; mayChange: boolean };

export function useCurrencies() {
  const { merchantId, environment } = useScope();
  const transport = useTransport();
  return useQuery({
    queryKey: ["currencies", merchantId, environment],
    // Its schema is larger than this page, and is loaded beside it.
    queryFn: async () => {
      const { PaymentService } = await import("../../../../gen/dashboard/v1/payments_pb.ts");
      return createClient(PaymentService, transport).listCurrencies({ merchantId, environment });
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function RoutingCases({ draft, connections, mayChange }: CasesProps) {
  const [editedKey, setEditedKey] = useState<string>();
  const known = useCurrencies();
  const currencies = known.data?.currencies ?? [];
  const { list } = draft.cases ?? noCases;
  const edited = list.find(({ key }) => key === editedKey);
  const change = (changed: Partial<CasesContent>) =>
    draft.change({ cases: { ...(draft.cases ?? noCases), ...changed } });
  const add = () => {
    const key = `new-${Date.now()}-${list.length}`;
    const names = list.map(({ name }) => name);
    const free = [...names, ""].map((_, index) => `Case ${index + 1}`).find((name) => !names.includes(name));
    const added = { key, name: free ?? "", conditions: noConditions, connectionIds: draft.connectionIds };
    change({ list: [...list, added] });
    setEditedKey(key);
  };
  return (
    <section className="card" aria-labelledby="cases">
      <h2 id="cases">Cases</h2>
      <p>
        A payment follows the first case whose conditions it meets, otherwise the default order. Each case has gateways
        of its own. A condition on something unknown about a payment is never met.
      </p>
      <CaseList
        list={list}
        currencies={currencies}
        connections={connections}
        split={draft.split}
        mayChange={mayChange}
        onChange={(changed) => change({ list: changed })}
        onEdit={setEditedKey}
      />
      {mayChange && list.length < 20 && (
        <div>
          <Button onPress={add}>Add a case</Button>
        </div>
      )}
      {edited && known.error && <Failure error={known.error} onRetry={known.refetch} />}
      {edited && !known.error && !known.data && <Loading what="The list of currencies" />}
      {edited && known.data && (
        <RoutingCaseForm
          key={edited.key}
          edited={edited}
          place={list.indexOf(edited) + 1}
          connections={connections}
          known={currencies}
          mayChange={mayChange}
          onChange={(changed) => change({ list: list.map((one) => (one === edited ? { ...one, ...changed } : one)) })}
          onClose={() => setEditedKey(undefined)}
        />
      )}
      <CardRanges
        ranges={draft.cases?.cardRanges ?? []}
        mayChange={mayChange}
        onChange={(cardRanges) => change({ cardRanges })}
      />
    </section>
  );
}

type ListProps = {
  list: readonly CaseContent[];
  currencies: Currencies;
  connections: Connections;
  split: SplitContent | undefined;
  mayChange: boolean;
  onChange: (list: CaseContent[]) => void;
  onEdit: (key: string | undefined) => void;
};

function CaseList({ list, currencies, connections, split, mayChange, onChange, onEdit }: ListProps) {
  const keys = list.map(({ key = "" }) => key);
  const inOrder = (order: readonly string[]) => order.flatMap((key) => list.find((one) => one.key === key) ?? []);
  if (list.length === 0) return <p className="soft">No case yet: all payments follow the default order.</p>;
  const move = (key: string, step: -1 | 1) => {
    const target = keys[keys.indexOf(key) + step];
    const place = step === -1 ? "before" : "after";
    if (target) onChange(inOrder(reordered(keys, new Set([key]), { target, place })));
  };
  return (
    <OrderList
      labelledBy="cases"
      rows={list.map((one) => {
        const { key = "", name, conditions = noConditions, connectionIds } = one;
        const index = keys.indexOf(key);
        const words = wordsOf(conditions, currencies) || "No condition yet";
        return {
          id: key,
          name,
          content: (
            <CaseRow
              one={one}
              sentence={`${words} → ${namesOf(connectionIds, connections).join(", then ") || "no gateway"}`}
              splits={splitsBelow(list, index, split)}
              place={index + 1}
              count={keys.length}
              mayChange={mayChange}
              onMove={(step) => move(key, step)}
              onEdit={() => onEdit(key)}
              onRemove={() => onChange(list.filter((other) => other.key !== key))}
            />
          ),
        };
      })}
      mayChange={mayChange}
      onOrder={(order) => onChange(inOrder(order))}
    />
  );
}

type RowProps = {
  one: CaseContent;
  sentence: string;
  /** The splits that it takes payments from. */
  splits: readonly string[];
  place: number;
  count: number;
  mayChange: boolean;
  onMove: (step: -1 | 1) => void;
  onEdit: () => void;
  onRemove: () => void;
};

function CaseRow({ one: { name, split, authentication }, sentence, splits, place, count, mayChange, ...on }: RowProps) {
  return (
    <>
      <span className="order-number">
        <span className="visually-hidden">Place </span>
        {place}
      </span>
      <span className="order-name">
        <strong>{name}</strong> <bdi>{sentence}</bdi>{" "}
        {split && <span className="badge">{formatWholePercent(split.percent / 100)} to variant B</span>}{" "}
        {authentication === Authentication.ALWAYS && <span className="badge">always authenticated</span>}
        {splits.length > 0 && (
          <span className="soft small">Takes payments from the split of {splits.join(" and of ")}.</span>
        )}
      </span>
      <span className="order-actions">
        {mayChange && <MoveButtons name={name} place={place} count={count} onMove={on.onMove} />}
        <Button kind="plain" aria-label={`${mayChange ? "Edit" : "View"} ${name}`} onPress={on.onEdit}>
          {mayChange ? "Edit" : "View"}
        </Button>
        {mayChange && (
          <Button kind="plain" aria-label={`Remove ${name}`} onPress={on.onRemove}>
            Remove
          </Button>
        )}
      </span>
    </>
  );
}

type RangesProps = {
  ranges: CasesContent["cardRanges"];
  mayChange: boolean;
  onChange: (ranges: CasesContent["cardRanges"]) => void;
};

function CardRanges({ ranges, mayChange, onChange }: RangesProps) {
  const [typed, setTyped] = useState("");
  const text = textOfRanges(ranges);
  // Shows the text as it was typed, until the ranges change otherwise.
  const shown = textOfRanges(rangesIn(typed)) === text ? typed : text;
  return (
    <details className="ranges">
      <summary>Card ranges: {ranges.length === 0 ? "none" : ranges.length}</summary>
      <div className="field">
        <label htmlFor="ranges">One range a line: first digits, country, type</label>
        <textarea
          id="ranges"
          rows={5}
          value={shown}
          placeholder={"457164 DK debit"}
          readOnly={!mayChange}
          aria-describedby="ranges-hint"
          onChange={({ target }) => {
            setTyped(target.value);
            onChange(rangesIn(target.value));
          }}
        />
        <span id="ranges-hint" className="hint">
          They tell the type and the issuing country of a card by its first 6 to 8 digits; the longest range decides.
          Ask your acquirer for the ranges that matter to you. Without a range, both are unknown, but for published test
          numbers, which are cards of the United States. At most 500.
        </span>
      </div>
    </details>
  );
}
