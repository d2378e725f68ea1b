/** Builds the page of recovery links, in every language of the widget. Runs in Node. */

import { buildPageScript, buildPageStyle, digestOf, languageOf, pageOf } from "../authentication/bundle-pages.ts";
import { pageTexts } from "../authentication/page-texts.ts";
import { texts as english } from "../locales/en.ts";
import { outcomes } from "../locales/en-outcomes.ts";
import { declineText, type Texts } from "../texts.ts";
import { loadTranslation, type Translation, translations } from "../translations.ts";

/** Builds the script and the style, and returns them with the function that renders the page. */
export async function bundleRecoveryPage() {
  const [style, script, known] = await Promise.all([
    buildPageStyle(new URL("page.css", import.meta.url)),
    buildPageScript("recovery/page.ts"),
    loadAll(),
  ]);
  const path = `/recover/page-${digestOf(script, "hex").slice(0, 16)}.js`;
  const head = `<meta name="robots" content="noindex"><style>${style}</style><script src="/widget/v1/widget.js" defer></script><script src="${path}" defer></script>`;
  return {
    files: new Map([[path, { contentType: "text/javascript; charset=utf-8", bytes: script }]]),
    styleSource: `'sha256-${digestOf(style, "base64")}'`,
    render: ({ acceptLanguage }: { acceptLanguage: string }): string => {
      const language = languageOf(acceptLanguage);
      return pageOf(language, "…", head, bodyOf(known.get(language)!, pageTexts[language]));
    },
  };
}

async function loadAll(): Promise<ReadonlyMap<Translation | "en", Texts>> {
  const translated = await Promise.all(
    translations.map(async (language) => [language, (await loadTranslation(language))!] as const),
  );
  return new Map<Translation | "en", Texts>([...translated, ["en", { ...english, ...outcomes }]]);
}

/** The texts are the widget's own: they contain nothing that HTML would interpret. */
function bodyOf(texts: Texts, { expired, back }: { readonly expired: string; readonly back: string }): string {
  const states = {
    loading: texts.loading,
    paid: texts.succeeded,
    beingPaid: texts.processing,
    over: expired,
    later: declineText(texts, "processing_unavailable"),
    unreachable: texts.unreachable,
  };
  const messages = Object.entries(states).map(
    ([state, text]) => `<p id="${state}"${state === "loading" ? "" : " hidden"}>${text}</p>`,
  );
  return `<main><h1><bdi id="merchant"></bdi></h1><p id="amount"></p><p><bdi id="order"></bdi></p><p id="card" dir="ltr"></p><div id="pay"></div><div id="states" role="status">${messages.join("")}</div><button type="button" id="again" hidden>${texts.tryAgain}</button><a id="back" hidden>${back}</a></main>`;
}
