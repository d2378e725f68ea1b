/** Asks the member to prove their identity again where the service requires it, then runs the action. */
import { createClient } from "@connectrpc/connect";
import { useMutation as useRpc, useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { Dialog, Heading } from "react-aria-components/Dialog";
import { Form } from "react-aria-components/Form";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { PasskeyService } from "../../../../gen/dashboard/v1/passkeys_pb.ts";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { codeOf } from "../rpc.ts";
import { useSignIn } from "../signed-in.tsx";
import { answerByPasskey } from "./ask-passkey.ts";
import { Button } from "./button.tsx";
import { Field } from "./field.tsx";
import { ProofDeclined, Refusal } from "./refusal.tsx";
import { Username } from "./username.tsx";

/** Returns `run`, which runs an action and asks first if required, and `dialog`, which belongs in the page. */
export function useProof() {
  const [isAsking, setAsking] = useState(false);
  const waiting = useRef<{ resolve: () => void; reject: (reason: unknown) => void }>(undefined);
  const run = useCallback(async <Result,>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      if (codeOf(error) !== "fresh_sign_in_required") throw error;
      await new Promise<void>((resolve, reject) => {
        waiting.current = { resolve, reject };
        setAsking(true);
      });
      return work();
    }
  }, []);
  const end = (isProved: boolean) => {
    setAsking(false);
    if (isProved) waiting.current?.resolve();
    else waiting.current?.reject(new ProofDeclined());
  };
  return { run, dialog: <ProofDialog isOpen={isAsking} onEnd={end} /> };
}

function ProofDialog({ isOpen, onEnd }: { isOpen: boolean; onEnd: (isProved: boolean) => void }) {
  const prove = useRpc(SignInService.method.proveSignIn);
  const { member } = useSignIn();
  const [needsCode, setNeedsCode] = useState(false);
  const client = createClient(PasskeyService, useTransport());
  const byPasskey = useMutation({
    mutationFn: async () => {
      const { options } = await client.beginPasskeyProof({});
      await client.proveWithPasskey({ credential: await answerByPasskey(options) });
    },
    onSuccess: () => onEnd(true),
  });
  const submit = async (form: FormData) => {
    const code = String(form.get("code") ?? "");
    const answer = await prove.mutateAsync({ password: String(form.get("password")), ...(code && { code }) });
    setNeedsCode(answer.codeNeeded);
    if (!answer.codeNeeded) onEnd(true);
  };
  return (
    <ModalOverlay className="overlay" isOpen={isOpen} onOpenChange={(open) => open || onEnd(false)} isDismissable>
      <Modal className="dialog">
        <Dialog>
          <Heading slot="title">Confirm that it is you</Heading>
          <p className="soft">To make this change, you must have confirmed your identity within the last 15 minutes.</p>
          <Form
            className="form"
            onSubmit={(event) => {
              event.preventDefault();
              submit(new FormData(event.currentTarget)).catch(() => {});
            }}
          >
            <Refusal error={prove.error ?? byPasskey.error} />
            <Username email={member?.email} />
            <Field
              label="Password"
              name="password"
              type="password"
              autoComplete="current-password"
              isRequired
              autoFocus
            />
            {needsCode && (
              <Field
                label="Code from your app"
                name="code"
                inputMode="numeric"
                autoComplete="one-time-code"
                isRequired
              />
            )}
            <div className="row">
              <Button kind="main" type="submit" isPending={prove.isPending}>
                Confirm
              </Button>
              {member?.hasPasskey && (
                <Button onPress={() => byPasskey.mutate()} isPending={byPasskey.isPending}>
                  Use a passkey
                </Button>
              )}
              <Button onPress={() => onEnd(false)}>Cancel</Button>
            </div>
          </Form>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
