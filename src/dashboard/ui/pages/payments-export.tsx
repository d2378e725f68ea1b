/** Writes the payments of a list to a CSV file in the browser, however many there are. */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { type PaymentFilter, PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Button } from "../parts/button.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { useScope } from "../scope.ts";

/** A button that shows its progress and can be stopped. */
export function PaymentsExport({ filter }: { filter: Partial<Omit<PaymentFilter, "$typeName" | "$unknown">> }) {
  const { merchantId, environment, environmentName } = useScope();
  const client = createClient(PaymentService, useTransport());
  const [count, setCount] = useState(0);
  const stop = useRef<AbortController>(undefined);
  const write = useMutation({
    mutationFn: async () => {
      stop.current = new AbortController();
      const { signal } = stop.current;
      setCount(0);
      const parts: string[] = [];
      for (let pageToken = ""; ; ) {
        const page = await client.exportPayments({ merchantId, environment, filter, pageToken }, { signal });
        parts.push(page.csv);
        setCount((before) => before + page.payments);
        pageToken = page.nextPageToken;
        if (pageToken === "") return save(parts, `payments-${environmentName}.csv`);
      }
    },
  });
  const isStopped = stop.current?.signal.aborted ?? false;
  return (
    <div className="row">
      <Button onPress={() => write.mutate()} isPending={write.isPending}>
        {write.isPending ? `${count.toLocaleString()} written…` : "Export CSV"}
      </Button>
      {write.isPending && (
        <Button kind="plain" onPress={() => stop.current?.abort()}>
          Stop
        </Button>
      )}
      <span className="visually-hidden" role="status">
        {write.isSuccess ? `${count} payments are in the file.` : ""}
      </span>
      {!isStopped && <Refusal error={write.error} />}
    </div>
  );
}

// The mark by which spreadsheets recognize UTF-8.
const byteOrderMark = "\ufeff";

function save(parts: readonly string[], name: string): void {
  const href = URL.createObjectURL(new Blob([byteOrderMark, ...parts], { type: "text/csv;charset=utf-8" }));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  URL.revokeObjectURL(href);
}
