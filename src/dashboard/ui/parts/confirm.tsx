/** Asks for confirmation before an action that cannot be undone. */
import type { ReactNode } from "react";
import { Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from "react-aria-components";
import { Button } from "./button.tsx";

/**
 * A button that asks for confirmation; `action` labels both buttons. An action that can be undone is not marked as
 * danger.
 */
export function Confirm(props: {
  action: string;
  title: string;
  children: ReactNode;
  onConfirm: () => unknown;
  isPending?: boolean;
  isDanger?: boolean;
}) {
  const { action, title, children, onConfirm, isPending, isDanger = true } = props;
  return (
    <DialogTrigger>
      <Button {...(isDanger && { kind: "danger" })} isPending={isPending ?? false}>
        {action}
      </Button>
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="dialog">
          <Dialog role="alertdialog">
            {({ close }) => (
              <>
                <Heading slot="title">{title}</Heading>
                <p className="soft">{children}</p>
                <div className="row">
                  <Button
                    kind={isDanger ? "danger" : "main"}
                    onPress={() => {
                      close();
                      onConfirm();
                    }}
                  >
                    {action}
                  </Button>
                  <Button onPress={close} autoFocus>
                    Cancel
                  </Button>
                </div>
              </>
            )}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}
