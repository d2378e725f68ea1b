/** The frame with the bank's page, and the page's line to it: through the vault's page, which a shop's policy allows. */

/** The frame's place, its content, and what it reports. */
type FrameLineOptions = {
  readonly container: HTMLElement;
  readonly isWide?: boolean;
  /** The vault's page around the service's; undefined if this page frames the service itself. */
  readonly around: string | undefined;
  readonly frameUrl: string;
  readonly title: string;
  readonly ticket: string;
  /** The action is shown; its ticket is used up. */
  readonly onOpened?: () => void;
  /** The bank has returned the customer. */
  readonly onAnswered: () => void;
  /** Called if no page of ours has answered: this page, or its browser, refuses the frame. */
  readonly onSilent?: () => void;
  /** Called if the service shows nothing for this ticket. */
  readonly onFailed?: () => void;
};

/** A frame in the page. */
export type FrameLine = {
  /** True once the bank's page is on its way into the frame. */
  readonly isShown: boolean;
  close(): void;
};

const silentMs = 5_000;
// Messages that arrive while a frame loads can be lost; later ones are sent after twice the time each, because browsers
// log an error for every one to a refused frame.
const greetAgainMs = 100;

/** Adds the frame, and hands it the ticket. */
export function connectFrame(options: FrameLineOptions): FrameLine {
  const { container, isWide, around, frameUrl, title, ticket } = options;
  const iframe = document.createElement("iframe");
  iframe.allow = "payment *; publickey-credentials-get *; publickey-credentials-create *";
  iframe.title = title;
  iframe.className = isWide ? "wide" : "";
  iframe.referrerPolicy = "no-referrer";
  iframe.src = around ?? frameUrl;
  const { origin } = new URL(iframe.src);
  let isShown = false;
  let isReady = false;
  let greeting: ReturnType<typeof setTimeout>;
  let silence: ReturnType<typeof setTimeout>;

  const close = () => {
    clearTimeout(greeting);
    clearTimeout(silence);
    iframe.remove();
  };
  const listen = () => {
    clearTimeout(silence);
    silence = setTimeout(() => {
      close();
      options.onSilent?.();
    }, silentMs);
  };
  const hear = ({ data, target }: MessageEvent<unknown>) => {
    if (data === "ready" && !isReady) {
      isReady = true;
      clearTimeout(greeting);
      listen();
      (target as MessagePort).postMessage({ ticket, title });
    } else if (data === "opened") {
      isShown = true;
      clearTimeout(silence);
      options.onOpened?.();
    } else if (data === "failed") {
      close();
      options.onFailed?.();
    } else if (data === "answered") options.onAnswered();
  };
  const greet = (againMs: number) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = hear;
    iframe.contentWindow?.postMessage({ type: "switchyard-action", url: frameUrl, title }, origin, [port2]);
    greeting = setTimeout(greet, againMs, againMs * 2);
  };
  iframe.onload = () => {
    if (!isReady) greet(greetAgainMs);
  };
  listen();
  container.replaceChildren(iframe);
  return {
    get isShown() {
      return isShown;
    },
    close,
  };
}
