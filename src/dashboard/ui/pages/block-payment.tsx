/** Blocks the card, the e-mail address or the network of a payment. */
import { useQuery } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Heading } from "react-aria-components/Dialog";
import {
  type BlockablePart,
  BlocklistService,
  PaymentPart as Part,
} from "../../../../gen/dashboard/v1/blocklist_pb.ts";
import { ActionDialog } from "../parts/action-dialog.tsx";
import { Button } from "../parts/button.tsx";
import { visible } from "../parts/copied-text.tsx";
import { DataForm } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { ScopeLink, useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { EntryFields, entryIn } from "./blocklist.tsx";

export default function BlockPayment({ sessionId }: { sessionId: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="row">
      <Button onPress={() => setOpen(true)}>Block this customer…</Button>
      <ActionDialog isOpen={isOpen} onClose={() => setOpen(false)}>
        <BlockDialog sessionId={sessionId} onEnd={() => setOpen(false)} />
      </ActionDialog>
    </div>
  );
}

function BlockDialog({ sessionId, onEnd }: { sessionId: string; onEnd: () => void }) {
  const { merchantId, environment } = useScope();
  const scope = { merchantId, environment };
  const method = BlocklistService.method.listBlockableParts;
  const { data, error, refetch } = useQuery(method, { ...scope, sessionId }, { staleTime: 0 });
  const client = useClient(BlocklistService);
  const block = useMutation({
    mutationFn: (form: FormData) => {
      const blocked = { case: "payment" as const, value: { sessionId, part: Number(form.get("part")) as Part } };
      return client.addBlocklistEntry({ ...scope, blocked, ...entryIn(form) });
    },
    onSuccess: onEnd,
    meta: { done: "It is blocked from now on. To unblock it, open the block list in Settings." },
  });
  const isAnyFree = data?.parts.some(({ entry }) => !entry) ?? false;
  return (
    <>
      <Heading slot="title">Block this customer</Heading>
      <p className="soft">
        Later payments by what you block are declined before any gateway is called, and this one stays as it is. The
        customer reads only that the card was declined. The{" "}
        <ScopeLink to="./settings" hash="blocklist">
          block list
        </ScopeLink>{" "}
        is in the settings.
      </p>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The payment" />}
      {data && (
        <DataForm onData={block.mutate}>
          <Parts parts={data.parts} />
          {isAnyFree && <EntryFields />}
          <Refusal error={block.error} />
          <div className="row">
            {isAnyFree && (
              <Button kind="danger" type="submit" isPending={block.isPending}>
                Block
              </Button>
            )}
            <Button onPress={onEnd}>{isAnyFree ? "Cancel" : "Close"}</Button>
          </div>
        </DataForm>
      )}
    </>
  );
}

function nameOf({ part, text }: BlockablePart): string {
  switch (part) {
    case Part.CARD:
      return text ? `The card ending in ${text}` : "The card";
    case Part.EMAIL:
      return `The e-mail address ${visible(text)}`;
    default:
      return `The network ${text}`;
  }
}

function Parts({ parts }: { parts: readonly BlockablePart[] }) {
  const first = parts.find(({ entry }) => !entry);
  const has = (wanted: Part) => parts.some(({ part }) => part === wanted);
  return (
    <>
      {parts.length > 0 && (
        <fieldset className="event-types">
          <legend>Block</legend>
          {parts.map((each) => (
            <label key={each.part} className="tick">
              <input
                type="radio"
                name="part"
                value={each.part}
                defaultChecked={each === first}
                disabled={each.entry !== undefined}
              />{" "}
              <bdi>
                {nameOf(each)}
                {each.entry && ` is blocked: ${visible(each.entry.reason)}`}
              </bdi>
            </label>
          ))}
        </fieldset>
      )}
      {!has(Part.CARD) && (
        <p className="small">
          The card cannot be blocked: the vault made no fingerprint of it, or the customer’s data were erased. An
          outside vault makes none.
        </p>
      )}
      {!has(Part.NETWORK) && (
        <p className="small">The network cannot be blocked: the payment came from no public address that is known.</p>
      )}
    </>
  );
}
