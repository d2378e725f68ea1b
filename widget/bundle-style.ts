/** An esbuild plugin that minifies the widget's style sheets, which the bundler sees only as long strings. */

import { type Plugin, transform } from "esbuild";
import { actionStyle } from "./action-style.ts";
import { cardsStyle } from "./cards-style.ts";
import { formStyle } from "./form-style.ts";
import { outcomeStyle } from "./outcome-style.ts";
import { walletsStyle } from "./wallets-style.ts";

// The oldest supported browsers (bundle.ts), by esbuild's names.
const target = ["chrome111", "firefox121", "safari16.4"];

const sheets = { formStyle, actionStyle, cardsStyle, outcomeStyle, walletsStyle };

type Sheet = keyof typeof sheets;

/** Strips spaces and comments of the style sheets. */
export const minifiedStyle: Plugin = {
  name: "minified-style",
  setup(build) {
    build.onLoad({ filter: /\/(form|action|cards|outcome|wallets)-style\.ts$/ }, async ({ path }) => {
      const name = `${/(\w+)-style\.ts$/.exec(path)![1]}Style` as Sheet;
      const { code } = await transform(sheets[name], { loader: "css", minify: true, charset: "utf8", target });
      // esbuild does not change custom properties, but the space after a name and its colon or comma has no meaning.
      const style = code.trim().replaceAll(/(--[\w-]+[:,]) /g, "$1");
      return { contents: `export const ${name} = ${JSON.stringify(style)};` };
    });
  },
};
