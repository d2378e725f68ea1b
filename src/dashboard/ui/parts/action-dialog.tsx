/** A dialog, and the button that a second Enter presses in its question. */
import { type ReactNode, useEffect, useRef } from "react";
import { Dialog, Heading } from "react-aria-components/Dialog";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { Button } from "./button.tsx";

/** A dialog whose content begins anew each time that it opens. If it is dismissable, a press beside it closes it. */
export function ActionDialog(props: {
  isOpen: boolean;
  onClose: () => void;
  title?: string;
  role?: "alertdialog";
  isDismissable?: boolean;
  children: ReactNode;
}) {
  const { isOpen, onClose, title, role = "dialog", isDismissable = false, children } = props;
  const onOpenChange = (open: boolean) => open || onClose();
  return (
    <ModalOverlay className="overlay" isOpen={isOpen} onOpenChange={onOpenChange} isDismissable={isDismissable}>
      <Modal className="dialog">
        <Dialog role={role}>
          {title && <Heading slot="title">{title}</Heading>}
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** A button with the focus, so that a second Enter confirms nothing. */
export function FocusedButton(props: { onPress: () => unknown; children: ReactNode }) {
  const ref = useRef<HTMLButtonElement>(null);
  // The dialog moves the focus of the field that has left, in the same frame.
  useEffect(() => {
    const frame = requestAnimationFrame(() => ref.current?.focus());
    return () => cancelAnimationFrame(frame);
  }, []);
  return <Button {...props} ref={ref} />;
}
