/** Keyboard shortcuts: two keys to a page, / to the search, ? to their list. They can be turned off. */
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Switch } from "react-aria-components/Switch";
import { ActionDialog } from "./action-dialog.tsx";
import { Button } from "./button.tsx";

const pages = {
  h: ["Home", "home"],
  p: ["Payments", "payments"],
  f: ["Refunds", "refunds"],
  a: ["Analytics", "analytics"],
  l: ["Ledger", "ledger"],
  o: ["Payouts", "payouts"],
  e: ["Settlement", "settlement"],
  r: ["Routing", "routing"],
  g: ["Gateways", "gateways"],
  w: ["Webhooks", "webhooks"],
  k: ["API keys", "keys"],
  t: ["Team", "team"],
  s: ["Settings", "settings"],
} as const;

// The longest time between two keys in a row.
const pairMs = 1_500;

// The only value that the page stores in the browser, and only once shortcuts are turned off.
const storedName = "shortcuts";

/** Listens while it is mounted, and shows the list on demand. */
export function Shortcuts({ environment, merchantId }: { environment: string; merchantId: string }) {
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const [isOn, setOn] = useState(() => localStorage.getItem(storedName) !== "off");
  useEffect(() => {
    let leader = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
      const isPair = event.timeStamp - leader < pairMs;
      leader = 0;
      const page = isPair ? pages[event.key as keyof typeof pages] : undefined;
      if (page !== undefined) void navigate({ href: `/${environment}/${merchantId}/${page[1]}` });
      else if (event.key === "g") leader = event.timeStamp;
      else if (event.key === "?") setOpen(true);
      else if (event.key !== "/" || !focusSearch()) return;
      event.preventDefault();
    };
    if (isOn) addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [isOn, environment, merchantId, navigate]);
  const turn = (on: boolean) => {
    setOn(on);
    if (on) localStorage.removeItem(storedName);
    else localStorage.setItem(storedName, "off");
  };
  return (
    <>
      <Button kind="plain" onPress={() => setOpen(true)} aria-label="Keyboard shortcuts">
        ?
      </Button>
      <ActionDialog isOpen={isOpen} onClose={() => setOpen(false)} title="Keyboard shortcuts" isDismissable>
        <Switch className="toggle" isSelected={isOn} onChange={turn}>
          <span className="toggle-track" /> Use them
        </Switch>
        <dl className="shortcuts">
          {Object.entries(pages).map(([key, [name]]) => (
            <div className="shortcut" key={key}>
              <dt>{name}</dt>
              <dd>
                <kbd>g</kbd> <kbd>{key}</kbd>
              </dd>
            </div>
          ))}
          <div className="shortcut">
            <dt>Search</dt>
            <dd>
              <kbd>/</kbd>
            </dd>
          </div>
          <div className="shortcut">
            <dt>This list</dt>
            <dd>
              <kbd>?</kbd>
            </dd>
          </div>
        </dl>
        <Button onPress={() => setOpen(false)} autoFocus>
          Close
        </Button>
      </ActionDialog>
    </>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element && target.closest("input, textarea, select, [contenteditable], [role=dialog]") !== null
  );
}

function focusSearch(): boolean {
  const box = document.querySelector<HTMLInputElement>("[data-shortcut='/']");
  box?.focus();
  box?.select();
  return box !== null;
}
