/** Confirms an address for alerts by the link in its mail, whose token is in the fragment, which browsers do not send. */
import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { Button } from "../parts/button.tsx";
import { Entrance } from "../parts/entrance.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { codeOf } from "../rpc.ts";

/** The page. A press confirms, because programs that check mails open their links. */
export function AlertAddressPage() {
  const [token] = useState(() => location.hash.slice(1));
  const { data, error, isPending, mutate } = useMutation(SignInService.method.confirmAlertAddress);
  const mayWork = !data && codeOf(error) !== "not_found";
  return (
    <Entrance title="Alerts by mail">
      <Refusal error={error} />
      <div aria-live="polite">
        {data && (
          <p>
            <bdi>{data.address}</bdi> now gets the alerts of <bdi>{data.merchantName}</bdi>. You can close this page.
          </p>
        )}
        {mayWork && <p>Confirm that alerts about payments may be sent to your address.</p>}
      </div>
      {mayWork && (
        <div>
          <Button kind="main" isPending={isPending} onPress={() => mutate({ token })}>
            Confirm
          </Button>
        </div>
      )}
    </Entrance>
  );
}
