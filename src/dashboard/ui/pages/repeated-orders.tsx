/** The setting that refuses a second payment of an order. */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { RepeatedOrders, type Settings, SettingsService } from "../../../../gen/dashboard/v1/settings_pb.ts";
import { useProof } from "../parts/prove.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Switch } from "../parts/switch.tsx";
import { useScope } from "../scope.ts";

/** The setting's card. A change is saved at once. */
export function RepeatedOrdersForm({ settings, onChange }: { settings: Settings; onChange: () => Promise<unknown> }) {
  const { merchantId, environment, role } = useScope();
  const client = createClient(SettingsService, useTransport());
  const { run, dialog } = useProof();
  const isRefusing = settings.repeatedOrders === RepeatedOrders.REFUSE;
  const save = useMutation({
    mutationFn: (isOn: boolean) => {
      const repeatedOrders = isOn ? RepeatedOrders.REFUSE : RepeatedOrders.WARN;
      return run(() =>
        client.setRepeatedOrders({ merchantId, environment, repeatedOrders, revision: settings.revision }),
      );
    },
    onSuccess: onChange,
  });
  return (
    <section className="card" aria-labelledby="repeated-orders">
      <div>
        <h3 id="repeated-orders">One order, one payment</h3>
        <p className="soft">
          An order is what your backend names by orderRef. A change is saved at once and begins with the orders that are
          paid or being paid.
        </p>
      </div>
      <Refusal error={save.error} />
      <Switch
        name="Refuse a second payment of an order"
        detail="The customer reads that the order is being paid, or is paid. Off: a second payment is taken, with an alert."
        isOn={isRefusing}
        isDisabled={role < Role.DEVELOPER || save.isPending}
        onChange={(isOn) => save.mutate(isOn)}
      />
      {dialog}
    </section>
  );
}
